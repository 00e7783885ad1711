#include "trees/split.h"

#include <algorithm>
#include <numeric>

#include "core/kernels.h"

namespace ferl {

double purity(const std::vector<double>& class_weight, double weight) {
  double squares = 0;
  for (const double w : class_weight) squares += w * w;
  return squares / weight;
}

double gini_gain(const std::vector<double>& class_weight, double weight, const std::vector<double>& left_class_weight) {
  const double left = std::accumulate(left_class_weight.begin(), left_class_weight.end(), 0.0);
  const double right = weight - left;
  double distance = 0;
  for (std::size_t c = 0; c < class_weight.size(); ++c) {
    const double difference = left_class_weight[c] / left - (class_weight[c] - left_class_weight[c]) / right;
    distance += difference * difference;
  }
  return left * right / weight * distance;
}

namespace {

// Quality of the current cut is numerator() / denominator(): larger is better, and comparing two needs no division.

// Two classes: the gain is 2 d^2 / (W W_left W_right), d = W l_1 - W_left t_1, so two running sums suffice.
class TwoClassTally {
 public:
  explicit TwoClassTally(const NodeView& node) : total_(node.weight), total_one_(node.class_weight[1]) {}
  void move_left(const RowInNode& row) {
    left += row.weight;
    left_one_ += row.y * row.weight;  // no branch: which class comes next cannot be foreseen
  }
  double numerator() const {
    const double difference = left_one_ * total_ - total_one_ * left;
    return difference * difference;
  }
  double denominator() const { return left * (total_ - left); }
  // Below their quotient a cut separates nothing but rounding errors.
  double least_numerator() const { return 1e-20 * total_ * total_ * total_ * total_; }
  double least_denominator() const { return 0.25 * total_ * total_; }
  double gain(double best_numerator, double best_denominator, const Row*, std::size_t) const {
    return 2 * best_numerator / (total_ * best_denominator);
  }

  double left = 0;

 private:
  double total_, total_one_, left_one_ = 0;
};

// Any number of classes: the two sums of squares are kept up to date in O(1) per row.
class ManyClassTally {
 public:
  explicit ManyClassTally(const NodeView& node)
      : node_(node), left_class_(node.class_weight.size(), 0.0), parent_(purity(node.class_weight, node.weight)),
        right_squares_(parent_ * node.weight) {}
  void move_left(const RowInNode& row) {
    double& l = left_class_[row.y];
    const double r = node_.class_weight[row.y] - l;
    left_squares_ += row.weight * (2 * l + row.weight);
    right_squares_ += row.weight * (row.weight - 2 * r);
    l += row.weight;
    left += row.weight;
  }
  double numerator() const { return left_squares_ * (node_.weight - left) + right_squares_ * left; }
  double denominator() const { return left * (node_.weight - left); }
  double least_numerator() const { return parent_; }
  double least_denominator() const { return 1; }
  // The rows left of the cut are added up once more: their squares, taken as differences above, have lost digits.
  double gain(double, double, const Row* order, std::size_t n_left) {
    std::fill(left_class_.begin(), left_class_.end(), 0.0);
    for (std::size_t k = 0; k < n_left; ++k) left_class_[node_.row[order[k]].y] += node_.row[order[k]].weight;
    return gini_gain(node_.class_weight, node_.weight, left_class_);
  }

  double left = 0;

 private:
  const NodeView& node_;
  std::vector<double> left_class_;
  double parent_, left_squares_ = 0, right_squares_;
};

template <class Tally>
Cut sweep(const NodeView& node, const Row* order, std::size_t n_rows, const double* x, double min_leaf_weight) {
  Tally tally(node);
  const double most_left = node.weight - min_leaf_weight;
  double best_numerator = tally.least_numerator(), best_denominator = tally.least_denominator();
  Cut best;
  std::size_t n_left = 0;  // of the best cut; 0: none
  double previous = x[order[0]];
  for (std::size_t k = 0; k < n_rows; ++k) {
    const Row ahead = order[std::min(k + kRowsAhead, n_rows - 1)];
    __builtin_prefetch(&node.row[ahead]);
    __builtin_prefetch(x + ahead);
    const double value = x[order[k]];
    if (value > previous) {
      if (tally.left >= min_leaf_weight && tally.left <= most_left) {
        const double numerator = tally.numerator(), denominator = tally.denominator();
        if (numerator * best_denominator > best_numerator * denominator * kBetter) {
          best_numerator = numerator;
          best_denominator = denominator;
          best.threshold = midpoint(previous, value);
          n_left = k;
        }
      }
      previous = value;
    }
    tally.move_left(node.row[order[k]]);
  }
  if (n_left > 0) best.gain = tally.gain(best_numerator, best_denominator, order, n_left);
  return best;
}

}  // namespace

Cut best_cut(const NodeView& node, const Row* order, std::size_t n_rows, const double* x, double min_leaf_weight) {
  if (node.class_weight.size() == 2) return sweep<TwoClassTally>(node, order, n_rows, x, min_leaf_weight);
  return sweep<ManyClassTally>(node, order, n_rows, x, min_leaf_weight);
}

}  // namespace ferl
