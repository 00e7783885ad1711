#include "rules/grid_bins.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/count_below.h"
#include "rows/sort.h"

namespace ferl::rules {

namespace {

struct Values {
  std::vector<double> value, weight;  // ascending, each once
};

Values distinct_values(const Sample& sample, Column column, std::size_t n_rows) {
  const double* x = sample.column(static_cast<std::size_t>(column));
  std::vector<KeyedRow> rows;
  rows.reserve(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i)  // + 0.0: the two zeros are one value
    if (!is_missing(x[i])) rows.push_back({sortable_bits(x[i] + 0.0), static_cast<Row>(i)});
  RowSorter()(rows);
  Values out;
  for (const KeyedRow& own : rows) {
    const double value = x[own.row] + 0.0;
    if (out.value.empty() || out.value.back() != value) out.value.push_back(value), out.weight.push_back(0.0);
    out.weight.back() += sample.weight[own.row];
  }
  return out;
}

std::size_t bounded(double wish, std::size_t least, std::size_t most) {
  return std::min(most, std::max(least, static_cast<std::size_t>(std::max(wish, 0.0))));
}

// Merges neighbouring bins of a number until an axis has at most `most` bins; `weight`: [bin].
void set_map_bins(Bins& bins, const std::vector<double>& weight, std::size_t most) {
  bins.of_map.assign(1, 0);
  std::uint8_t own = 1;
  const std::vector<std::size_t> places = cut_places(weight, most);
  std::size_t next = 0;
  for (std::size_t k = 0; k < weight.size(); ++k) {
    bins.of_map.push_back(own);
    if (next < places.size() && places[next] == k) ++own, ++next;
  }
  bins.n_map_bins = static_cast<std::size_t>(own) + 1;
}

void find_bins(const Bins& bins, const double* x, std::size_t n, std::uint16_t* out) {
  constexpr std::size_t kRows = 256;
  std::uint32_t below[kRows];
  for (std::size_t first = 0; first < n; first += kRows) {
    const std::size_t n_own = std::min(kRows, n - first);
    if (bins.is_categorical) {
      const double n_known = static_cast<double>(bins.n_bins - 2);
      for (std::size_t i = 0; i < n_own; ++i)
        below[i] = is_missing(x[first + i]) ? 0 : static_cast<std::uint32_t>(std::min(x[first + i], n_known));
    } else {
      count_below(bins.cuts.data(), bins.cuts.size(), x + first, n_own, std::less<>(), below);
    }
    for (std::size_t i = 0; i < n_own; ++i)
      out[first + i] = static_cast<std::uint16_t>(is_missing(x[first + i]) ? 0 : below[i] + 1);
  }
}

}  // namespace

std::vector<double> Bins::map_cuts() const {
  std::vector<double> out;
  for (std::size_t k = 0; k < cuts.size(); ++k)
    if (of_map[k + 1] != of_map[k + 2]) out.push_back(cuts[k]);
  return out;
}

std::vector<std::size_t> cut_places(const std::vector<double>& weight, std::size_t most) {
  std::vector<std::size_t> out;
  const std::size_t n = weight.size();
  if (n <= most) {
    for (std::size_t k = 0; k + 1 < n; ++k) out.push_back(k);
    return out;
  }
  const double all = std::accumulate(weight.begin(), weight.end(), 0.0), large = all / static_cast<double>(most);
  double rest = 0;
  std::size_t n_large = 0;
  for (const double own : weight) own >= large ? static_cast<void>(++n_large) : static_cast<void>(rest += own);
  const double share = rest / static_cast<double>(most > n_large ? most - n_large : 1);
  double run = 0;
  for (std::size_t k = 0; k + 1 < n; ++k) {
    run += weight[k];
    if (weight[k] >= large || weight[k + 1] >= large || run >= share) out.push_back(k), run = 0;
  }
  return out;
}

double cut_between(double below, double above) {
  const double middle = below / 2 + above / 2;
  return middle >= below && middle < above ? middle : below;
}

Bins make_bins(const Sample& sample, Column column, double weight, const Tuning& tuning) {
  Bins out;
  const auto n_categories = static_cast<std::size_t>(sample.n_categories[static_cast<std::size_t>(column)]);
  if (n_categories > 0) {
    if (n_categories < 2 || n_categories > tuning.grid_categories) return out;
    out.column = column, out.is_categorical = true;
    out.n_bins = out.n_map_bins = n_categories + 2;
    out.of_map.resize(out.n_bins);
    std::iota(out.of_map.begin(), out.of_map.end(), std::uint8_t{0});
    return out;
  }
  const Values values = distinct_values(sample, column, std::min(sample.n_rows, tuning.grid_bin_rows));
  if (values.value.size() < 2) return out;
  // With many classes, each class needs separate rows in a bin.
  const double many = std::max(1.0, static_cast<double>(sample.n_classes) / tuning.grid_many_classes);
  const double paid = weight / tuning.weight_per_bin / many;
  out.column = column;
  const std::vector<std::size_t> places =
      cut_places(values.weight, bounded(paid, tuning.min_curve_bins, tuning.max_curve_bins));
  std::vector<double> of_bin(1, 0.0);
  std::size_t next = 0;
  for (std::size_t k = 0; k < values.value.size(); ++k) {
    of_bin.back() += values.weight[k];
    if (next == places.size() || places[next] != k) continue;
    out.cuts.push_back(cut_between(values.value[k], values.value[k + 1]));
    of_bin.push_back(0.0);
    ++next;
  }
  out.n_bins = out.cuts.size() + 2;
  set_map_bins(out, of_bin, bounded(std::sqrt(paid), tuning.min_map_bins, tuning.max_map_bins));
  return out;
}

std::vector<BinnedColumn> bin_columns(const Sample& sample, const Tuning& tuning, ThreadPool& pool) {
  const double weight = std::accumulate(sample.weight.begin(), sample.weight.end(), 0.0);
  std::vector<BinnedColumn> all(sample.n_columns);
  pool.run(all.size(), sample.n_rows * all.size() > tuning.share_grid, [&](std::size_t j) {
    BinnedColumn& own = all[j];
    own.bins = make_bins(sample, static_cast<Column>(j), weight, tuning);
    if (own.bins.column < 0) return;
    const double* x = sample.column(j);
    own.bin.resize(sample.n_rows), own.map_bin.resize(sample.n_rows);
    find_bins(own.bins, x, sample.n_rows, own.bin.data());
    for (std::size_t i = 0; i < sample.n_rows; ++i) own.map_bin[i] = own.bins.of_map[own.bin[i]];
  });
  all.erase(std::remove_if(all.begin(), all.end(), [](const BinnedColumn& own) { return own.bins.column < 0; }),
            all.end());
  return all;
}

}  // namespace ferl::rules
