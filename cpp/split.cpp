#include "split.h"

namespace ferl {

double purity(const double* class_weight, std::size_t n_classes, double weight) {
  double squares = 0;
  for (std::size_t c = 0; c < n_classes; ++c) squares += class_weight[c] * class_weight[c];
  return squares / weight;
}

namespace {

// Quality of the current cut is numerator() / denominator(): larger is better, and comparing two needs no division.

// Two classes: the gain is 2 d^2 / (W W_left W_right), d = W l_1 - W_left t_1, so two running sums suffice.
class TwoClassTally {
 public:
  TwoClassTally(const NodeView& node, std::vector<double>&) : total_(node.weight), total_one_(node.class_weight[1]) {}
  void move_left(const RowInNode& row) {
    left += row.weight;
    left_one_ += row.y == 1 ? row.weight : 0.0;
  }
  double numerator() const {
    const double difference = left_one_ * total_ - total_one_ * left;
    return difference * difference;
  }
  double denominator() const { return left * (total_ - left); }
  double gain(double numerator, double denominator) const { return 2 * numerator / (total_ * denominator); }
  // Below this a cut separates nothing but rounding errors.
  double least_numerator() const { return 1e-20 * total_ * total_ * total_ * total_; }
  double least_denominator() const { return 0.25 * total_ * total_; }

  double left = 0;

 private:
  double total_, total_one_, left_one_ = 0;
};

// Any number of classes: the two sums of squares are kept up to date in O(1) per row.
class ManyClassTally {
 public:
  ManyClassTally(const NodeView& node, std::vector<double>& left_class)
      : class_total_(node.class_weight), total_(node.weight), left_class_(left_class) {
    left_class_.assign(class_total_.size(), 0.0);
    parent_ = purity(class_total_.data(), class_total_.size(), total_);
    right_squares_ = parent_ * total_;
  }
  void move_left(const RowInNode& row) {
    double& l = left_class_[row.y];
    const double r = class_total_[row.y] - l;
    left_squares_ += row.weight * (2 * l + row.weight);
    right_squares_ += row.weight * (row.weight - 2 * r);
    l += row.weight;
    left += row.weight;
  }
  double numerator() const { return left_squares_ * (total_ - left) + right_squares_ * left; }
  double denominator() const { return left * (total_ - left); }
  double gain(double numerator, double denominator) const { return numerator / denominator - parent_; }
  double least_numerator() const { return parent_; }
  double least_denominator() const { return 1; }

  double left = 0;

 private:
  const std::vector<double>& class_total_;
  double total_;
  std::vector<double>& left_class_;
  double left_squares_ = 0, right_squares_ = 0, parent_ = 0;
};

template <class Tally>
Cut sweep(const NodeView& node, const Row* order, std::size_t n_rows, const double* x, double min_leaf_weight,
          std::vector<double>& scratch) {
  Tally tally(node, scratch);
  const double most_left = node.weight - min_leaf_weight;
  double best_numerator = tally.least_numerator(), best_denominator = tally.least_denominator();
  Cut best;
  bool found = false;
  double previous = x[order[0]];
  for (std::size_t k = 0; k < n_rows; ++k) {
    const double value = x[order[k]];
    if (value > previous) {
      if (tally.left >= min_leaf_weight && tally.left <= most_left) {
        const double numerator = tally.numerator(), denominator = tally.denominator();
        if (numerator * best_denominator > best_numerator * denominator * kBetter) {
          best_numerator = numerator;
          best_denominator = denominator;
          best.threshold = midpoint(previous, value);
          found = true;
        }
      }
      previous = value;
    }
    tally.move_left(node.row[order[k]]);
  }
  if (found) best.gain = tally.gain(best_numerator, best_denominator);
  return best;
}

}  // namespace

Cut best_cut(const NodeView& node, const Row* order, std::size_t n_rows, const double* x, double min_leaf_weight) {
  thread_local std::vector<double> scratch;  // one allocation a thread, not one a node and feature
  if (node.class_weight.size() == 2) return sweep<TwoClassTally>(node, order, n_rows, x, min_leaf_weight, scratch);
  return sweep<ManyClassTally>(node, order, n_rows, x, min_leaf_weight, scratch);
}

}  // namespace ferl
