#include "rules/knots.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "core/count_below.h"
#include "rows/sort.h"

namespace ferl::rules {

namespace {

// Ends so far out that all other points would become one knot are left out: a ramp that ends before a value has its
// full membership there, or none.
void drop_far_ends(std::vector<double>& points, double far_out) {
  while (points.size() > 2) {
    const double range = points.back() - points.front();
    const double without_first = points.back() - points[1], without_last = points[points.size() - 2] - points.front();
    if (std::min(without_first, without_last) >= far_out * range) return;
    points.erase(without_first < without_last ? points.begin() : points.end() - 1);
  }
}

// The knot below a value; the last bin holds the last knot too.
std::size_t bin_of(const std::vector<double>& knots, double value) {
  std::uint32_t out;
  count_below<1>(knots.data() + 1, knots.size() - 2, &value, std::less_equal<>(), &out);
  return out;
}

// Known values with their weights, ascending; equal values by their weights.
std::vector<std::pair<double, double>> sorted_values(const Sample& sample, const double* x) {
  std::vector<KeyedRow> rows;
  rows.reserve(sample.n_rows);
  for (std::size_t i = 0; i < sample.n_rows; ++i)  // + 0.0: the two zeros are one value
    if (!is_missing(x[i])) rows.push_back({sortable_bits(x[i] + 0.0), static_cast<Row>(i)});
  RowSorter()(rows);
  std::vector<std::pair<double, double>> out;
  out.reserve(rows.size());
  std::size_t first = 0;  // the first value equal to the last one
  const auto sort_equal = [&] {
    const auto from = out.begin() + static_cast<std::ptrdiff_t>(first);
    if (!std::is_sorted(from, out.end())) std::sort(from, out.end());
  };
  for (const KeyedRow& own : rows) {
    const double value = x[own.row] + 0.0;
    if (!out.empty() && out.back().first < value) sort_equal(), first = out.size();
    out.emplace_back(value, sample.weight[own.row]);
  }
  sort_equal();
  return out;
}

Feature number_feature(const Sample& sample, Column column, std::vector<double> knots) {
  Feature f;
  f.column = column;
  const double low = knots.front(), range = knots.back() - low;
  for (const double knot : knots) f.position.push_back((knot - low) / range);
  for (std::size_t q = knots.size(); q < kMaxKnots; ++q) f.position.push_back(static_cast<double>(q) + 1);
  f.knots = std::move(knots);
  const double* x = sample.column(column);
  std::vector<double> weight(f.knots.size(), 0.0), weight_x(f.knots.size(), 0.0);
  double known = 0;
  for (std::size_t i = 0; i < sample.n_rows; ++i) {
    if (is_missing(x[i])) {
      f.has_missing = true;
      continue;
    }
    const std::size_t q = bin_of(f.knots, x[i]) + 1;
    weight[q] += sample.weight[i];
    weight_x[q] += sample.weight[i] * std::min(1.0, std::max(0.0, (x[i] - low) / range));
    known += sample.weight[i];
  }
  std::partial_sum(weight.begin(), weight.end(), weight.begin());
  std::partial_sum(weight_x.begin(), weight_x.end(), weight_x.begin());
  for (std::size_t q = 0; q < weight.size(); ++q) {
    f.share_below.push_back(weight[q] / known);
    f.share_below_x.push_back(weight_x[q] / known);
  }
  f.share_below.resize(kMaxKnots, 0.0);
  f.share_below_x.resize(kMaxKnots, 0.0);
  return f;
}

Feature categorical_feature(const Sample& sample, Column column) {
  Feature f;
  f.column = column;
  f.category_share.assign(static_cast<std::size_t>(sample.n_categories[column]), 0.0);
  const double* x = sample.column(column);
  double known = 0;
  for (std::size_t i = 0; i < sample.n_rows; ++i) {
    if (is_missing(x[i])) {
      f.has_missing = true;
      continue;
    }
    f.category_share[static_cast<std::size_t>(x[i])] += sample.weight[i];
    known += sample.weight[i];
  }
  const auto n_seen = std::count_if(f.category_share.begin(), f.category_share.end(), [](double w) { return w > 0; });
  if (n_seen < 2)
    f.column = -1;
  else
    for (double& share : f.category_share) share /= known;
  return f;
}

}  // namespace

double Feature::share_of_ramp(std::size_t low, std::size_t high) const {
  const double at = position[low];
  return ((share_below_x[high] - share_below_x[low]) - at * (share_below[high] - share_below[low])) /
             (position[high] - at) +
         1.0 - share_below[high];
}

std::size_t knots_per_feature(const Sample& sample, const Tuning& tuning) {
  const double weight = std::accumulate(sample.weight.begin(), sample.weight.end(), 0.0);
  const auto most = static_cast<std::size_t>(std::clamp(
      weight / tuning.weight_per_knot, static_cast<double>(tuning.min_knots), static_cast<double>(tuning.max_knots)));
  return std::clamp(tuning.knot_budget / std::max<std::size_t>(sample.n_columns, 1), tuning.min_knots, most);
}

std::vector<double> choose_knots(const Sample& sample, Column column, std::size_t most, const Tuning& tuning) {
  const double* x = sample.column(column);
  const std::vector<std::pair<double, double>> known = sorted_values(sample, x);  // value, weight
  std::vector<std::pair<double, double>> values;  // distinct, with the weight up to them
  double total = 0;
  for (const auto& [value, weight] : known) {
    total += weight;
    if (values.empty() || values.back().first < value)
      values.push_back({value, total});
    else
      values.back().second = total;
  }
  if (values.size() < 2 || !std::isfinite(values.back().first - values.front().first)) return {};
  std::vector<double> points;
  const auto add = [&](double value) {
    if (points.empty() || value > points.back()) points.push_back(value);
  };
  if (values.size() <= most) {
    for (const auto& value : values) add(value.first);
  } else {
    add(values.front().first);
    for (std::size_t k = 0; k + 2 < most; ++k) {
      const double aim = (0.5 + static_cast<double>(k)) / static_cast<double>(most - 2) * total * (1 - 1e-12);
      add(std::lower_bound(values.begin(), values.end(), aim, [](const auto& value, double sum) {
            return value.second < sum;
          })->first);
    }
    add(values.back().first);
  }
  drop_far_ends(points, tuning.far_out);
  const double least = tuning.least_gap * (points.back() - points.front());
  std::vector<double> knots;
  for (const double point : points)
    if (knots.empty() || point - knots.back() > least) knots.push_back(point);
  knots.back() = points.back();
  return knots;
}

Grid make_grid(const Sample& sample, std::size_t n_located, const std::vector<int>& is_left_out, const Tuning& tuning,
               ThreadPool& pool) {
  const std::size_t n = sample.n_rows, most = knots_per_feature(sample, tuning);
  std::vector<Feature> found(sample.n_columns);
  const std::size_t chunk = std::max<std::size_t>(1, 20'000 / n);  // columns a task
  pool.run((sample.n_columns + chunk - 1) / chunk, n * sample.n_columns > tuning.share_grid, [&](std::size_t task) {
    for (std::size_t j = task * chunk; j < std::min((task + 1) * chunk, sample.n_columns); ++j) {
      if (!is_left_out.empty() && is_left_out[j]) continue;
      const auto column = static_cast<Column>(j);
      if (sample.n_categories[j] > 0) {
        found[j] = categorical_feature(sample, column);
      } else if (auto knots = choose_knots(sample, column, most, tuning); !knots.empty()) {
        found[j] = number_feature(sample, column, std::move(knots));
      }
    }
  });
  Grid grid;
  const std::size_t n_kept = grid.n_rows = std::min(n_located, n);
  for (Feature& f : found)
    if (f.column >= 0) grid.features.push_back(std::move(f));
  const std::size_t n_features = grid.features.size();
  grid.code_of_feature.resize(n_features);
  std::size_t n_codes = 0;
  for (std::size_t f = 0; f < n_features; ++f) {
    grid.code_of_feature[f] = n_codes;
    if (grid.features[f].is_categorical()) n_codes += n_kept;
  }
  grid.code.resize(n_codes);
  grid.bin.resize(n_features * n_kept);
  grid.offset.resize(n_features * n_kept);
  pool.run((n_features + chunk - 1) / chunk, n_kept * n_features > tuning.share_grid, [&](std::size_t task) {
    for (std::size_t j = task * chunk; j < std::min((task + 1) * chunk, n_features); ++j) {
      const Feature& f = grid.features[j];
      const double* x = sample.column(f.column);
      if (f.is_categorical()) {
        std::int32_t* code = grid.code.data() + grid.code_of_feature[j];
        for (std::size_t i = 0; i < n_kept; ++i) code[i] = is_missing(x[i]) ? -1 : static_cast<std::int32_t>(x[i]);
        continue;
      }
      const auto last = f.knots.size() - 1;
      for (std::size_t i = 0; i < n_kept; ++i) {
        std::size_t q = last;
        double offset = 0;
        if (!is_missing(x[i])) {
          q = bin_of(f.knots, x[i]);
          offset = std::min(1.0, std::max(0.0, (x[i] - f.knots[q]) / (f.knots[q + 1] - f.knots[q])));
        }
        grid.bin[j * n_kept + i] = static_cast<std::uint8_t>(q);
        grid.offset[j * n_kept + i] = static_cast<float>(offset);
      }
    }
  });
  return grid;
}

}  // namespace ferl::rules
