#include "trees/band.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/exponential.h"
#include "core/kernels.h"

namespace ferl {

namespace {

constexpr double kLeastRatio = 1e-100;  // below which x log x is nothing

LaneRows lane_rows(const SortedRows& rows, const Resamples& resamples, int group, int n_classes) {
  return {rows.row.size(),
          rows.row.data(),
          rows.y.data(),
          rows.value.data(),
          rows.weight.data(),
          rows.occurrence.data(),
          resamples.counts(group, 0),
          n_classes};
}

// Gini decrease per unit of weight; zero where a side is empty.
double gini_decrease(const std::vector<LaneCell>& all, const std::vector<LaneCell>& left, int lane) {
  double left_weight = 0, weight = 0, distance = 0;
  for (std::size_t c = 0; c < all.size(); ++c) {
    weight += all[c].v[lane];
    left_weight += left[c].v[lane];
  }
  const double right_weight = weight - left_weight, tiny = 1e-12 * weight;
  if (!(left_weight > tiny) || !(right_weight > tiny)) return 0;
  for (std::size_t c = 0; c < all.size(); ++c) {
    const double difference = left[c].v[lane] / left_weight - (all[c].v[lane] - left[c].v[lane]) / right_weight;
    distance += difference * difference;
  }
  return left_weight * right_weight / (weight * weight) * distance;
}

// Taken from the first value, so that a large common offset (time stamps) does not round the differences away.
double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v - values[0];
  return values[0] + sum / static_cast<double>(values.size());
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

// Calls sweep(group) for every group of resamples, by the pool where there are rows enough.
template <class Sweep>
void over_groups(const SortedRows& rows, const Resamples& resamples, ThreadPool& pool, const Sweep& sweep) {
  constexpr std::size_t kWorthThreads = 2'000;
  pool.run(static_cast<std::size_t>(resamples.n_groups()), rows.row.size() >= kWorthThreads,
           [&](std::size_t group) { sweep(static_cast<int>(group)); });
}

// Where the cuts fall in two places, the band between them splits nothing. Told by the rows each resample left out:
// the resamples' own crisp cuts beat the ramp there by more than one standard deviation.
bool crisp_cuts_win(const SortedRows& rows, const Resamples& resamples, int n_classes,
                    const std::vector<double>& lane_cuts, Band band, ThreadPool& pool) {
  std::vector<double> advantage, membership;
  const Ramp ramp(band);
  for (const double value : rows.value) membership.push_back(ramp(value));
  std::vector<double> of_lane(lane_cuts.size());
  over_groups(rows, resamples, pool, [&](int group) {
    std::vector<LaneCell> all(n_classes), crisp(n_classes), soft(n_classes);
    const int first = group * kLanes;
    kernels().tally_absent(lane_rows(rows, resamples, group, n_classes), lane_cuts.data() + first, membership.data(),
                           all.data(), crisp.data(), soft.data());
    for (int lane = 0; lane < kLanes; ++lane)
      of_lane[first + lane] = gini_decrease(all, crisp, lane) - gini_decrease(all, soft, lane);
  });
  for (std::size_t lane = 0; lane < lane_cuts.size(); ++lane)
    if (!std::isnan(lane_cuts[lane])) advantage.push_back(of_lane[lane]);
  const double mean = mean_of(advantage);
  return mean > root_mean_square_from(advantage, mean);
}

Band band_of(const SortedRows& rows, const Cut& cut, const Resamples& resamples, const std::vector<double>& lane_cuts,
             const std::vector<double>& cuts, int n_classes, const BandOptions& options, ThreadPool& pool) {
  const double floor = 1e-3 * (rows.value.back() - rows.value.front());
  auto band = [&](Spread spread) {
    return Band::around(spread.theta, std::max(options.scale * spread.half_width, floor));
  };
  if (cuts.empty()) return band({cut.threshold, 0});
  const Spread spread = spread_of(cuts, options.form);
  const Band wide = band(spread);
  if (options.two_mode && spread.half_width > 0 && crisp_cuts_win(rows, resamples, n_classes, lane_cuts, wide, pool))
    return band(nearer_half(cuts, cut.threshold));
  return wide;
}

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

// Sum over classes of own * log(share on this side / share in the node): this side's part of the decrease of entropy.
double divergence(const std::vector<double>& side, double side_weight, const std::vector<double>& all, double weight) {
  double sum = 0;
  for (std::size_t c = 0; c < side.size(); ++c) {
    if (!(side[c] > 0) || !(all[c] > 0)) continue;
    // Not more than if this side had all of the class: where it has, rounding may say so.
    const double ratio = std::min(side[c] / all[c], 1.0) * weight / side_weight;
    if (ratio >= kLeastRatio) sum += side[c] * short_logarithm(ratio);
  }
  return sum;
}

}  // namespace

Gain most_gain(const std::vector<double>& class_weight, double weight, Criterion criterion) {
  const double gini = weight - purity(class_weight, weight);
  if (criterion == Criterion::gini) return {gini, 0};
  if (criterion == Criterion::cci) return {weight - largest(class_weight), gini};
  double entropy = 0;
  for (const double w : class_weight)
    if (w >= kLeastRatio * weight) entropy -= w * short_logarithm(w / weight);
  return {entropy, gini};
}

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
                                   double min_leaf_weight, ThreadPool& pool) {
  std::vector<double> cuts(static_cast<std::size_t>(resamples.n_groups()) * kLanes);
  over_groups(rows, resamples, pool, [&](int group) {
    const LaneRows lanes = lane_rows(rows, resamples, group, n_classes);
    double* of_group = cuts.data() + group * kLanes;
    if (n_classes == 2) {
      kernels().cuts_two_classes(lanes, min_leaf_weight, of_group);
    } else {
      std::vector<LaneCell> total(n_classes), left(n_classes);
      kernels().cuts_many_classes(lanes, min_leaf_weight, total.data(), left.data(), of_group);
    }
  });
  return cuts;
}

Gain gain_of(const std::vector<double>& class_weight, double weight, const std::vector<double>& left_class_weight,
             Criterion criterion) {
  const double gini = gini_gain(class_weight, weight, left_class_weight);
  if (criterion == Criterion::gini) return {gini, 0};
  std::vector<double> right_class_weight(class_weight);
  for (std::size_t c = 0; c < class_weight.size(); ++c) right_class_weight[c] -= left_class_weight[c];
  if (criterion == Criterion::entropy) {
    const double left = std::accumulate(left_class_weight.begin(), left_class_weight.end(), 0.0);
    const double gain = divergence(left_class_weight, left, class_weight, weight) +
                        divergence(right_class_weight, weight - left, class_weight, weight);
    return {gain > 1e-12 * weight ? gain : 0, gini};
  }
  const double cci = largest(left_class_weight) + largest(right_class_weight) - largest(class_weight);
  // Where the majority class stays the same the difference is rounding, which must not decide over Gini.
  return {cci > 1e-12 * weight ? cci : 0, gini};
}

CutSpread cut_spread(std::vector<double> cuts, const std::vector<double>& values, Band band, int n_resamples) {
  if (cuts.empty()) return {kNaN, kNaN, 0};
  std::sort(cuts.begin(), cuts.end());
  // The ends belong to the band. Cuts often lie on them (where there are two places, or by the MAD's definition), and
  // rounding must not decide.
  const double slack = 1e-9 * (band.high - band.low), low = band.low - slack, high = band.high + slack;
  const auto inside = std::count_if(cuts.begin(), cuts.end(), [=](double c) { return low <= c && c <= high; });
  // The true cut is one of B + 1 exchangeable cuts, so it is among the n_out outermost on either side with probability
  // 2 n_out / (B + 1).
  const auto n_out = std::max<std::size_t>(1, static_cast<std::size_t>(0.05 * static_cast<double>(cuts.size() + 1)));
  const auto below = std::upper_bound(values.begin(), values.end(), cuts[n_out - 1]);
  const auto above = std::lower_bound(values.begin(), values.end(), cuts[cuts.size() - n_out]);
  return {*std::prev(below), *above, static_cast<double>(inside) / n_resamples};
}

Candidate band_candidate(const NodeView& node, Column column, const SortedRows& rows, const Cut& cut,
                         const Resamples& resamples, const BandOptions& options, ThreadPool& pool) {
  const auto n_classes = static_cast<int>(node.class_weight.size());
  Candidate candidate;
  const auto lane_cuts = resampled_cuts(rows, resamples, n_classes, options.min_leaf_weight, pool);
  std::vector<double> cuts;
  for (const double c : lane_cuts)
    if (!std::isnan(c)) cuts.push_back(c);
  candidate.band = band_of(rows, cut, resamples, lane_cuts, cuts, n_classes, options, pool);
  candidate.cuts = cut_spread(std::move(cuts), rows.value, candidate.band, resamples.n_resamples());
  const Ramp ramp(candidate.band);
  std::vector<double> left(n_classes, 0.0);
  for (std::size_t k = 0; k < rows.row.size(); ++k) left[rows.y[k]] += rows.weight[k] * ramp(rows.value[k]);
  const double left_weight = std::accumulate(left.begin(), left.end(), 0.0);
  if (left_weight < options.min_leaf_weight || node.weight - left_weight < options.min_leaf_weight) return candidate;
  candidate.share = left_weight / node.weight;
  if (n_classes == 2)
    candidate.rise = (node.class_weight[1] - left[1]) / (node.weight - left_weight) - left[1] / left_weight;
  candidate.gain = gain_of(node.class_weight, node.weight, left, options.criterion);
  if (candidate.gain.first > 0 || candidate.gain.second > 0) candidate.column = column;
  return candidate;
}

Candidate category_candidate(const CategoryRows& rows, Column column, int n_categories, const Cut& cut,
                             const Resamples& resamples, const BandOptions& options) {
  Candidate candidate;
  candidate.category = category_band(rows, n_categories, resamples, options.min_leaf_weight);
  double left = 0, placed = 0;
  for (std::size_t k = 0; k < rows.n_rows; ++k) {
    const double membership = candidate.category[static_cast<std::size_t>(rows.x[rows.order[k]])];
    if (is_missing(membership)) continue;
    placed += rows.node.row[rows.order[k]].weight;
    left += rows.node.row[rows.order[k]].weight * membership;
  }
  if (left < options.min_leaf_weight || placed - left < options.min_leaf_weight) return candidate;
  candidate.share = left / placed;
  candidate.gain = gain_of(rows.node.class_weight, rows.node.weight, cut.left_class_weight, options.criterion);
  if (candidate.gain.first > 0 || candidate.gain.second > 0) candidate.column = column;
  return candidate;
}

}  // namespace ferl
