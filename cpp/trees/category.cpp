#include "trees/category.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ramp.h"

namespace ferl {

namespace {

constexpr int kParts = 3;         // of the rows, each judged by a subset that was found on the others
constexpr double kPriorRows = 5;  // that every category is taken to have more, with the class shares of the node
constexpr int kPowerSteps = 12;
constexpr double kRightAngle = 1e-9;   // cosines below it may be rounding
constexpr double kClearlyMore = 1.25;  // times the spread: of steps that found their aim, what is left to gain is less
constexpr std::size_t kMostSteps = 256;  // between which a cut is looked for

// Class weights of each category that occurs in a node.
struct Tally {
  std::size_t n_classes;
  std::vector<double> cells;  // [category][class]

  explicit Tally(std::size_t n_categories, std::size_t n_classes_)
      : n_classes(n_classes_), cells(n_categories * n_classes_, 0.0) {}
  std::size_t size() const { return cells.size() / n_classes; }
  const double* of(std::size_t category) const { return cells.data() + category * n_classes; }
  double* of(std::size_t category) { return cells.data() + category * n_classes; }
  double weight(std::size_t category) const { return std::accumulate(of(category), of(category) + n_classes, 0.0); }
  std::vector<double> total() const {
    std::vector<double> sum(n_classes, 0.0);
    for (std::size_t i = 0; i < cells.size(); ++i) sum[i % n_classes] += cells[i];
    return sum;
  }
};

// Where each category's rows begin in the order, and its code.
struct Groups {
  std::vector<std::size_t> begin;  // one more than categories
  std::vector<std::size_t> code;

  explicit Groups(const CategoryRows& rows) {
    for (std::size_t k = 0; k < rows.n_rows; ++k) {
      const auto value = static_cast<std::size_t>(rows.x[rows.order[k]]);
      if (!code.empty() && code.back() == value) continue;
      begin.push_back(k);
      code.push_back(value);
    }
    begin.push_back(rows.n_rows);
  }
  std::size_t size() const { return code.size(); }
};

double product(const std::vector<double>& a, const double* b) { return std::inner_product(a.begin(), a.end(), b, 0.0); }

// The difference of the class shares of two sides; zero if one is empty.
std::vector<double> difference(const std::vector<double>& left, const std::vector<double>& right) {
  const double left_weight = std::accumulate(left.begin(), left.end(), 0.0);
  const double right_weight = std::accumulate(right.begin(), right.end(), 0.0);
  std::vector<double> out(left.size(), 0.0);
  if (!(left_weight > 0) || !(right_weight > 0)) return out;
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = left[c] / left_weight - right[c] / right_weight;
  return out;
}

// How the class shares of each category that occurs differ from the shares of all rows, and in which direction most.
class Differences {
 public:
  explicit Differences(const Tally& tally) : n_classes_(tally.n_classes) {
    const auto total = tally.total();
    const double weight = std::accumulate(total.begin(), total.end(), 0.0);
    for (std::size_t c = 0; c < n_classes_; ++c) share_.push_back(total[c] / weight);
    for (std::size_t i = 0; i < tally.size(); ++i) {
      const double w = tally.weight(i);
      if (!(w > 0)) continue;
      weight_.push_back(w);
      for (std::size_t c = 0; c < n_classes_; ++c) away_.push_back(tally.of(i)[c] / w - share_[c]);
    }
  }

  // By a few steps of the power method from a fixed direction. Where two classes mirror each other that may be at a right
  // angle to what is sought, and the steps lead elsewhere, or wherever rounding leads. So they are also taken from what
  // they leave most of; what they find then is taken if it is clearly better, and at a right angle unless it is worse.
  std::vector<double> principal() const {
    std::vector<double> fixed;
    for (std::size_t c = 0; c < n_classes_; ++c) fixed.push_back((c % 2 ? -1.0 : 1.0) * (1.0 + share_[c]));
    const auto usual = refined(fixed), other = refined(most_left(usual));
    const bool is_at_right_angle =
        std::abs(product(fixed, other.data())) < kRightAngle * std::sqrt(product(fixed, fixed.data()));
    const double wanted = is_at_right_angle ? 1 - kRightAngle : kClearlyMore;
    return spread_along(other) > wanted * spread_along(usual) ? other : usual;
  }

 private:
  const double* away(std::size_t i) const { return away_.data() + i * n_classes_; }

  std::vector<double> refined(std::vector<double> direction) const {
    std::vector<double> next(n_classes_);
    for (int step = 0; step < kPowerSteps; ++step) {
      std::fill(next.begin(), next.end(), 0.0);
      for (std::size_t i = 0; i < weight_.size(); ++i) {
        const double along = weight_[i] * product(direction, away(i));
        for (std::size_t c = 0; c < n_classes_; ++c) next[c] += along * away(i)[c];
      }
      const double length = std::sqrt(product(next, next.data()));
      if (!(length > 0)) break;
      for (std::size_t c = 0; c < n_classes_; ++c) direction[c] = next[c] / length;
    }
    return direction;
  }

  // The difference of the category that differs most, by its weight, without its part along a direction.
  std::vector<double> most_left(const std::vector<double>& direction) const {
    std::vector<double> most(n_classes_, 0.0), across(n_classes_);
    const double square = product(direction, direction.data());
    double size_of_most = 0;
    for (std::size_t i = 0; i < weight_.size(); ++i) {
      const double along = product(direction, away(i)) / square;
      for (std::size_t c = 0; c < n_classes_; ++c) across[c] = away(i)[c] - along * direction[c];
      const double size = weight_[i] * product(across, across.data());
      if (size > size_of_most * kBetter) size_of_most = size, most = across;
    }
    return most;
  }

  double spread_along(const std::vector<double>& direction) const {
    double sum = 0;
    for (std::size_t i = 0; i < weight_.size(); ++i) {
      const double along = product(direction, away(i));
      sum += weight_[i] * along * along;
    }
    return sum;
  }

  std::size_t n_classes_;
  std::vector<double> share_, weight_;  // of the classes in all; of each category
  std::vector<double> away_;            // [category][class]
};

// The direction in which the class shares of categories differ most. Its sign follows its largest part, so that it
// does not depend on the order of the categories.
std::vector<double> principal_direction(const Tally& tally) {
  if (tally.n_classes == 2) return {0.0, 1.0};
  auto direction = Differences(tally).principal();
  const auto largest = std::max_element(direction.begin(), direction.end(),
                                        [](double a, double b) { return std::abs(a) < std::abs(b) * (1 - 1e-9); });
  if (*largest < 0)
    for (double& d : direction) d = -d;
  return direction;
}

// A category, or several of like score: what they hold, and where they stand.
struct Step {
  double score = 0, weight = 0;
  std::vector<double> class_weight;
};

// Scores of the categories, NaN where one is absent.
std::vector<double> scores_of(const Tally& tally, const std::vector<double>& direction,
                              const std::vector<double>& total, double weight) {
  const double prior = kPriorRows * product(direction, total.data()) / weight;
  std::vector<double> scores;
  for (std::size_t i = 0; i < tally.size(); ++i) {
    const double category_weight = tally.weight(i);
    scores.push_back(category_weight > 0 ? (product(direction, tally.of(i)) + prior) / (category_weight + kPriorRows)
                                         : kNaN);
  }
  return scores;
}

// The categories by ascending score. Categories of equal score form one step: only their names would order them.
// If there are very many, neighbours are put together, so that nothing need be sorted.
std::vector<Step> steps_of(const Tally& tally, const std::vector<double>& scores) {
  std::vector<std::size_t> present;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!is_missing(scores[i])) present.push_back(i);
  std::vector<Step> steps;
  const auto add = [&](Step& step, std::size_t i) {
    step.class_weight.resize(tally.n_classes, 0.0);
    step.score = std::max(step.weight > 0 ? step.score : scores[i], scores[i]);
    for (std::size_t c = 0; c < tally.n_classes; ++c) step.class_weight[c] += tally.of(i)[c];
    step.weight += tally.weight(i);
  };
  if (present.size() <= kMostSteps) {
    std::sort(present.begin(), present.end(), [&](std::size_t i, std::size_t j) { return scores[i] < scores[j]; });
    for (const std::size_t i : present) {
      if (steps.empty() || scores[i] - steps.back().score > 1e-12 * std::abs(scores[i])) steps.emplace_back();
      add(steps.back(), i);
    }
    return steps;
  }
  double low = kInfinity, high = -kInfinity;
  for (const std::size_t i : present) low = std::min(low, scores[i]), high = std::max(high, scores[i]);
  steps.resize(kMostSteps + 1);
  const double per_score = high > low ? kMostSteps / (high - low) : 0.0;
  for (const std::size_t i : present) add(steps[static_cast<std::size_t>((scores[i] - low) * per_score)], i);
  std::erase_if(steps, [](const Step& step) { return !(step.weight > 0); });
  return steps;
}

// The share of a row's weight in a part. Rows are in a random order, so that their numbers divide them fairly. A row
// that stands for several is divided equally, and the remainder is dealt out from the row's part on.
double share_of_part(int part, Row row, double copies) {
  const double each = std::floor(copies / kParts);
  const int turn = (part + kParts - static_cast<int>(row % kParts)) % kParts;
  return (each + (turn < copies - kParts * each)) / copies;
}

// For each category whether it goes left (1), right (0), or is absent (-1); all -1 where nothing separates.
std::vector<int> best_subset(const Tally& tally, const std::vector<double>& direction, double min_leaf_weight) {
  const std::size_t n_classes = tally.n_classes;
  std::vector<int> side(tally.size(), -1);
  const auto total = tally.total();
  const double weight = std::accumulate(total.begin(), total.end(), 0.0);
  if (weight < 2 * min_leaf_weight) return side;
  const auto scores = scores_of(tally, direction, total, weight);
  const auto steps = steps_of(tally, scores);
  double best = purity(total, weight), left_weight = 0, last_left = kNaN;
  std::vector<double> left(n_classes, 0.0);
  for (std::size_t k = 0; k + 1 < steps.size(); ++k) {
    for (std::size_t c = 0; c < n_classes; ++c) left[c] += steps[k].class_weight[c];
    left_weight += steps[k].weight;
    if (left_weight < min_leaf_weight || weight - left_weight < min_leaf_weight) continue;
    double right_squares = 0;
    for (std::size_t c = 0; c < n_classes; ++c) right_squares += (total[c] - left[c]) * (total[c] - left[c]);
    const double quality = purity(left, left_weight) + right_squares / (weight - left_weight);
    if (quality > best * kBetter) best = quality, last_left = steps[k].score;
  }
  if (is_missing(last_left)) return side;
  for (std::size_t i = 0; i < side.size(); ++i)
    if (!is_missing(scores[i])) side[i] = scores[i] <= last_left;
  return side;
}

}  // namespace

std::vector<double> copies_of_rows(const Sample& sample, const std::vector<double>& unit) {
  std::vector<double> copies;
  for (std::size_t r = 0; r < sample.n_rows; ++r) {
    const double ratio = sample.weight[r] / unit[static_cast<std::size_t>(sample.y[r])];
    copies.push_back(std::round(ratio));
    if (std::abs(ratio - copies.back()) > 1e-9 * ratio) return std::vector<double>(sample.n_rows, 1.0);
  }
  return copies;
}

std::vector<double> cross_fitted_left(const CategoryRows& rows, const std::vector<double>& copies,
                                      double min_leaf_weight) {
  const std::size_t n_classes = rows.node.class_weight.size();
  const Groups groups(rows);
  std::vector<Tally> part(kParts, Tally(groups.size(), n_classes));
  Tally all(groups.size(), n_classes);
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (std::size_t k = groups.begin[i]; k < groups.begin[i + 1]; ++k) {
      const Row r = rows.order[k];
      const RowInNode& row = rows.node.row[r];
      for (int p = 0; p < kParts; ++p) part[p].of(i)[row.y] += row.weight * share_of_part(p, r, copies[r]);
      all.of(i)[row.y] += row.weight;
    }
  const auto direction = principal_direction(all);
  std::vector<double> left(n_classes, 0.0), fitted_left(n_classes, 0.0), fitted_right(n_classes, 0.0);
  for (const Tally& held_out : part) {
    Tally others = all;
    for (std::size_t i = 0; i < others.cells.size(); ++i)
      others.cells[i] = std::max(0.0, all.cells[i] - held_out.cells[i]);
    const auto side = best_subset(others, direction, min_leaf_weight * (kParts - 1) / kParts);
    double went_left = 0, placed = 0;
    for (std::size_t i = 0; i < side.size(); ++i) {
      if (side[i] < 0) continue;
      placed += others.weight(i);
      went_left += side[i] * others.weight(i);
      auto& fitted = side[i] ? fitted_left : fitted_right;
      for (std::size_t c = 0; c < n_classes; ++c) fitted[c] += others.of(i)[c];
    }
    const double share = placed > 0 ? went_left / placed : 0.5;
    for (std::size_t i = 0; i < side.size(); ++i)
      for (std::size_t c = 0; c < n_classes; ++c) left[c] += (side[i] < 0 ? share : side[i]) * held_out.of(i)[c];
  }
  std::vector<double> right(rows.node.class_weight);
  for (std::size_t c = 0; c < n_classes; ++c) right[c] -= left[c];
  // Where the rows held out differ the other way round, the subsets have learned which rows they lack: in matched pairs
  // the one that is left tells the class of the other.
  const bool agrees = product(difference(left, right), difference(fitted_left, fitted_right).data()) > 0;
  return agrees ? left : std::vector<double>{};
}

std::vector<double> category_band(const CategoryRows& rows, int n_categories, const Resamples& resamples,
                                  double min_leaf_weight) {
  const std::size_t n_classes = rows.node.class_weight.size();
  const Groups groups(rows);
  Tally all(groups.size(), n_classes);
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (std::size_t k = groups.begin[i]; k < groups.begin[i + 1]; ++k)
      all.of(i)[rows.node.row[rows.order[k]].y] += rows.node.row[rows.order[k]].weight;
  const auto direction = principal_direction(all);
  std::vector<double> votes(groups.size(), 0.0), n_votes(groups.size(), 0.0);
  for (int group = 0; group < resamples.n_groups(); ++group) {
    std::vector<Tally> lanes(kLanes, Tally(groups.size(), n_classes));
    for (std::size_t i = 0; i < groups.size(); ++i)
      for (std::size_t k = groups.begin[i]; k < groups.begin[i + 1]; ++k) {
        const Row r = rows.order[k];
        const std::uint8_t* counts = resamples.counts(group, r);
        const double occurrence = rows.node.row[r].weight * resamples.occurrence(r);
        for (int lane = 0; lane < kLanes; ++lane) lanes[lane].of(i)[rows.node.row[r].y] += occurrence * counts[lane];
      }
    for (const Tally& tally : lanes) {
      const auto side = best_subset(tally, direction, min_leaf_weight);
      for (std::size_t i = 0; i < side.size(); ++i)
        if (side[i] >= 0) votes[i] += side[i], n_votes[i] += 1;
    }
  }
  std::vector<double> membership(static_cast<std::size_t>(n_categories), kNaN);
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (n_votes[i] > 0) membership[groups.code[i]] = votes[i] / n_votes[i];
  return membership;
}

}  // namespace ferl
