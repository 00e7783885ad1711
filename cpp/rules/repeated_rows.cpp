#include "rules/repeated_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "rows/hash.h"

namespace ferl::rules {

namespace {

// Whether the values of each row come with other classes, too.
std::vector<char> are_disputed(const Sample& sample) {
  std::vector<std::pair<std::uint64_t, Row>> order(sample.n_rows);
  for (std::size_t i = 0; i < sample.n_rows; ++i) order[i] = {0, static_cast<Row>(i)};
  for (std::size_t j = 0; j < sample.n_columns; ++j)
    for (auto& [hash, i] : order) hash = mix(hash ^ value_bits(sample.column(j)[i]));
  std::sort(order.begin(), order.end());
  std::vector<char> out(sample.n_rows, 0);
  for (std::size_t from = 0, to; from < order.size(); from = to) {
    bool is_disputed = false;
    for (to = from; to < order.size() && order[to].first == order[from].first; ++to)
      is_disputed = is_disputed || sample.y[order[to].second] != sample.y[order[from].second];
    for (std::size_t k = from; k < to; ++k) out[order[k].second] = is_disputed;
  }
  return out;
}

}  // namespace

std::optional<RowsApart> repeated_rows_apart(const Sample& sample, const Tuning& tuning) {
  const double all = std::accumulate(sample.weight.begin(), sample.weight.end(), 0.0);
  const double piece = std::max(1.0, all / static_cast<double>(tuning.most_pieces));
  const auto n_pieces = [&](std::size_t i) { return static_cast<std::size_t>(sample.weight[i] / piece); };
  std::vector<Row> wide;
  for (std::size_t i = 0; i < sample.n_rows; ++i)
    if (n_pieces(i) >= tuning.least_pieces) wide.push_back(static_cast<Row>(i));
  if (wide.empty()) return {};
  const std::vector<char> disputed = are_disputed(sample);
  const double heavy = tuning.heavy_row * all / static_cast<double>(sample.n_rows);

  std::vector<double> weight = sample.weight;
  std::vector<std::pair<std::uint64_t, Row>> order;  // by key, as rows of a sample are
  for (std::size_t i = 0; i < sample.n_rows; ++i) order.emplace_back(sample.key[i], static_cast<Row>(i));
  for (const Row i : wide) {
    if (!disputed[i] && sample.weight[i] < heavy) continue;
    const std::size_t n = n_pieces(i);
    weight[i] /= static_cast<double>(n);
    for (std::size_t k = 1; k < n; ++k) order.emplace_back(mix(sample.key[i] + k), i);
  }
  if (order.size() == sample.n_rows) return {};
  std::sort(order.begin(), order.end());

  Sample out;
  out.n_rows = order.size(), out.n_columns = sample.n_columns, out.n_classes = sample.n_classes;
  out.n_categories = sample.n_categories;
  out.x.reserve(out.n_rows * out.n_columns);
  for (std::size_t j = 0; j < sample.n_columns; ++j)
    for (const auto& [key, i] : order) out.x.push_back(sample.column(j)[i]);
  std::vector<Row> source;
  for (const auto& [key, i] : order) {
    source.push_back(i);
    out.y.push_back(sample.y[i]);
    out.weight.push_back(weight[i]);
    out.key.push_back(key);
    out.place.push_back(sample.place[i]);
    if (!sample.group.empty()) out.group.push_back(sample.group[i]);
  }
  return RowsApart{std::move(out), std::move(source)};
}

}  // namespace ferl::rules
