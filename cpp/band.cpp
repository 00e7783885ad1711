#include "band.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "simd.h"

namespace ferl {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

#define FERL_INLINE __attribute__((always_inline)) inline

FERL_INLINE Lanes load_counts(const Resamples& resamples, int group, Row row) {
  Bytes counts;
  std::memcpy(&counts, resamples.counts(group, row), sizeof counts);
  return __builtin_convertvector(counts, Lanes);
}

// The best cut so far in each of eight resamples.
struct LaneSearch {
  Lanes numerator, denominator;       // of the best cut; their quotient is what is maximised
  Lanes cut = kZeroLanes + kNaN;
  Lanes last = kZeroLanes - std::numeric_limits<double>::infinity();  // last value present in the resample

  // The cut just below `value`, in the resamples where the row is present and the value new.
  FERL_INLINE void offer(Lanes num, Lanes den, Lanes left, Lanes right, Lanes count, double value, double min_weight) {
    const auto is_new = (count > 0.0) & (last < value);
    const auto heavy = (left >= min_weight) & (right >= min_weight);
    const auto better = is_new & heavy & (num * denominator > numerator * den * kBetter);
    numerator = better ? num : numerator;
    denominator = better ? den : denominator;
    cut = better ? 0.5 * last + 0.5 * value : cut;
    last = is_new ? kZeroLanes + value : last;
  }
};

FERL_CLONES void sweep_two_classes(const SortedRows& rows, const Resamples& resamples, int group, double min_weight,
                                   double* cuts) {
  const std::size_t n = rows.row.size();
  Lanes total = kZeroLanes, total_one = kZeroLanes;
  for (std::size_t k = 0; k < n; ++k) {
    const Lanes w = rows.occurrence[k] * load_counts(resamples, group, rows.row[k]);
    total += w;
    total_one += rows.y[k] == 1 ? w : kZeroLanes;
  }
  LaneSearch search{1e-20 * total * total * total * total, 0.25 * total * total};
  Lanes left = kZeroLanes, left_one = kZeroLanes;
  for (std::size_t k = 0; k < n; ++k) {
    const Lanes count = load_counts(resamples, group, rows.row[k]);
    const Lanes right = total - left;
    const Lanes difference = left_one * total - total_one * left;
    search.offer(difference * difference, left * right, left, right, count, rows.value[k], min_weight);
    const Lanes w = rows.occurrence[k] * count;
    left += w;
    left_one += rows.y[k] == 1 ? w : kZeroLanes;
  }
  for (int lane = 0; lane < kLanes; ++lane) cuts[lane] = search.cut[lane];
}

FERL_CLONES void sweep_many_classes(const SortedRows& rows, const Resamples& resamples, int group, int n_classes,
                                    double min_weight, double* cuts) {
  const std::size_t n = rows.row.size();
  std::vector<LaneCell> class_total(n_classes), class_left(n_classes);
  for (std::size_t k = 0; k < n; ++k)
    class_total[rows.y[k]].v += rows.occurrence[k] * load_counts(resamples, group, rows.row[k]);
  Lanes total = kZeroLanes, right_squares = kZeroLanes, left_squares = kZeroLanes, left = kZeroLanes;
  for (const auto& [t] : class_total) {
    total += t;
    right_squares += t * t;
  }
  LaneSearch search{right_squares, total};
  for (std::size_t k = 0; k < n; ++k) {
    const Lanes count = load_counts(resamples, group, rows.row[k]);
    const Lanes right = total - left;
    search.offer(left_squares * right + right_squares * left, left * right, left, right, count, rows.value[k],
                 min_weight);
    const Lanes w = rows.occurrence[k] * count;
    Lanes& l = class_left[rows.y[k]].v;
    left_squares += w * (2 * l + w);
    right_squares += w * (w - 2 * (class_total[rows.y[k]].v - l));
    l += w;
    left += w;
  }
  for (int lane = 0; lane < kLanes; ++lane) cuts[lane] = search.cut[lane];
}

// Class weights of the rows absent from each resample: all, left of the resample's own cut, left by the ramp.
struct AbsentTally {
  std::vector<LaneCell> all, crisp, soft;
  explicit AbsentTally(int n_classes) : all(n_classes), crisp(n_classes), soft(n_classes) {}
};

FERL_CLONES void tally_absent(const SortedRows& rows, const Resamples& resamples, int group, const double* cuts,
                              Ramp ramp, AbsentTally& tally) {
  Lanes cut;
  for (int lane = 0; lane < kLanes; ++lane) cut[lane] = cuts[lane];
  for (std::size_t k = 0; k < rows.row.size(); ++k) {
    const Lanes count = load_counts(resamples, group, rows.row[k]);
    const Lanes w = count == 0.0 ? kZeroLanes + rows.weight[k] : kZeroLanes;
    const Label y = rows.y[k];
    tally.all[y].v += w;
    tally.crisp[y].v += cut >= rows.value[k] ? w : kZeroLanes;
    tally.soft[y].v += w * ramp(rows.value[k]);
  }
}

// Gini decrease per unit of weight in each lane; zero where a side is empty.
Lanes gini_decrease(const std::vector<LaneCell>& all, const std::vector<LaneCell>& left) {
  Lanes left_weight = kZeroLanes, weight = kZeroLanes;
  for (std::size_t c = 0; c < all.size(); ++c) {
    weight += all[c].v;
    left_weight += left[c].v;
  }
  const Lanes right_weight = weight - left_weight;
  const Lanes tiny = 1e-12 * weight;
  const auto split = (left_weight > tiny) & (right_weight > tiny);
  Lanes distance = kZeroLanes;
  for (std::size_t c = 0; c < all.size(); ++c) {
    const Lanes difference = left[c].v / left_weight - (all[c].v - left[c].v) / right_weight;
    distance += difference * difference;
  }
  return split ? left_weight * right_weight / (weight * weight) * distance : kZeroLanes;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double root_mean_square_from(const std::vector<double>& values, double centre) {
  double sum = 0;
  for (const double v : values) sum += (v - centre) * (v - centre);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : midpoint(values[half - 1], values[half]);
}

struct Spread {
  double theta, half_width;
};

Spread spread_of(const std::vector<double>& cuts, BandForm form) {
  if (form == BandForm::mean_std) {
    const double mean = mean_of(cuts);
    return {mean, root_mean_square_from(cuts, mean)};
  }
  const double median = median_of(cuts);
  std::vector<double> deviation;
  for (const double c : cuts) deviation.push_back(std::abs(c - median));
  return {median, median_of(deviation)};
}

// The cuts nearest to the full-sample cut: one of two modes.
Spread nearer_half(std::vector<double> cuts, double threshold) {
  std::sort(cuts.begin(), cuts.end(), [threshold](double a, double b) {
    const double da = std::abs(a - threshold), db = std::abs(b - threshold);
    return da != db ? da < db : a < b;
  });
  cuts.resize((cuts.size() + 1) / 2);
  return {threshold, root_mean_square_from(cuts, threshold)};
}

// Where the cuts fall in two places, the band between them splits nothing. Told by the rows each resample left out:
// the resamples' own crisp cuts beat the ramp there by more than one standard deviation.
bool crisp_cuts_win(const SortedRows& rows, const Resamples& resamples, int n_classes,
                    const std::vector<double>& lane_cuts, Band band) {
  std::vector<double> advantage;
  for (int group = 0; group < resamples.n_groups(); ++group) {
    AbsentTally tally(n_classes);
    const double* cuts = lane_cuts.data() + group * kLanes;
    tally_absent(rows, resamples, group, cuts, Ramp(band), tally);
    const Lanes difference = gini_decrease(tally.all, tally.crisp) - gini_decrease(tally.all, tally.soft);
    for (int lane = 0; lane < kLanes; ++lane)
      if (!std::isnan(cuts[lane])) advantage.push_back(difference[lane]);
  }
  const double mean = mean_of(advantage);
  return mean > root_mean_square_from(advantage, mean);
}

Band band_of(const SortedRows& rows, const Cut& cut, const Resamples& resamples, int n_classes,
             const BandOptions& options) {
  const double floor = 1e-3 * (rows.value.back() - rows.value.front());
  auto band = [&](Spread spread) {
    return Band::around(spread.theta, std::max(options.scale * spread.half_width, floor));
  };
  const auto lane_cuts = resampled_cuts(rows, resamples, n_classes, options.min_leaf_weight);
  std::vector<double> cuts;
  for (const double c : lane_cuts)
    if (!std::isnan(c)) cuts.push_back(c);
  if (cuts.empty()) return band({cut.threshold, 0});
  const Spread spread = spread_of(cuts, options.form);
  const Band wide = band(spread);
  if (options.two_mode && spread.half_width > 0 && crisp_cuts_win(rows, resamples, n_classes, lane_cuts, wide))
    return band(nearer_half(cuts, cut.threshold));
  return wide;
}

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

}  // namespace

void SortedRows::gather(const NodeView& node, const Row* order, std::size_t n_rows, const double* x,
                        const Resamples& resamples) {
  row.assign(order, order + n_rows);
  y.resize(n_rows);
  value.resize(n_rows);
  weight.resize(n_rows);
  occurrence.resize(n_rows);
  for (std::size_t k = 0; k < n_rows; ++k) {
    const RowInNode& r = node.row[order[k]];
    y[k] = r.y;
    value[k] = x[order[k]];
    weight[k] = r.weight;
    occurrence[k] = r.weight * resamples.occurrence(order[k]);
  }
}

std::vector<double> resampled_cuts(const SortedRows& rows, const Resamples& resamples, int n_classes,
                                   double min_leaf_weight) {
  std::vector<double> cuts(static_cast<std::size_t>(resamples.n_groups()) * kLanes);
  for (int group = 0; group < resamples.n_groups(); ++group) {
    double* of_group = cuts.data() + group * kLanes;
    if (n_classes == 2) sweep_two_classes(rows, resamples, group, min_leaf_weight, of_group);
    else sweep_many_classes(rows, resamples, group, n_classes, min_leaf_weight, of_group);
  }
  return cuts;
}

Gain gain_of(const std::vector<double>& class_weight, double weight, const std::vector<double>& left_class_weight,
             Criterion criterion) {
  const std::size_t n_classes = class_weight.size();
  const double left = std::accumulate(left_class_weight.begin(), left_class_weight.end(), 0.0);
  const double right = weight - left;
  std::vector<double> right_class_weight(n_classes);
  double distance = 0;
  for (std::size_t c = 0; c < n_classes; ++c) {
    right_class_weight[c] = class_weight[c] - left_class_weight[c];
    const double difference = left_class_weight[c] / left - right_class_weight[c] / right;
    distance += difference * difference;
  }
  const double gini = left * right / weight * distance;
  if (criterion == Criterion::gini) return {gini, 0};
  return {std::max(0.0, largest(left_class_weight) + largest(right_class_weight) - largest(class_weight)), gini};
}

Candidate band_candidate(const NodeView& node, Column column, const SortedRows& rows, const Cut& cut,
                         const Resamples& resamples, const BandOptions& options) {
  const auto n_classes = static_cast<int>(node.class_weight.size());
  Candidate candidate;
  candidate.band = band_of(rows, cut, resamples, n_classes, options);
  const Ramp ramp(candidate.band);
  std::vector<double> left(n_classes, 0.0);
  for (std::size_t k = 0; k < rows.row.size(); ++k) left[rows.y[k]] += rows.weight[k] * ramp(rows.value[k]);
  const double left_weight = std::accumulate(left.begin(), left.end(), 0.0);
  if (left_weight < options.min_leaf_weight || node.weight - left_weight < options.min_leaf_weight) return candidate;
  candidate.gain = gain_of(node.class_weight, node.weight, left, options.criterion);
  if (candidate.gain.first > 0 || candidate.gain.second > 0) candidate.column = column;
  return candidate;
}

}  // namespace ferl
