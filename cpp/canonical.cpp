#include "canonical.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ramp.h"
#include "sort.h"

namespace ferl {

std::uint64_t mix(std::uint64_t bits) {  // the finaliser of SplitMix64 (Steele, Lea & Flood 2014)
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

namespace {

// Equal values must have equal bits: adding zero turns -0.0 into 0.0, and one NaN stands for all.
double canonical_value(double value) { return is_missing(value) ? kNaN : value + 0.0; }

std::uint64_t value_bits(double value) { return std::bit_cast<std::uint64_t>(canonical_value(value)); }

// Columns in which some row has a value. The others tell nothing apart, and must not change what is drawn.
std::vector<std::size_t> columns_with_values(const TableView& table) {
  std::vector<std::size_t> columns;
  for (std::size_t j = 0; j < table.x.n_columns; ++j)
    for (std::size_t i = 0; i < table.x.n_rows; ++i)
      if (table.weight[i] > 0 && !is_missing(table.x(i, j))) {
        columns.push_back(j);
        break;
      }
  return columns;
}

std::vector<KeyedRow> hash_rows(const TableView& table, std::uint64_t seed, Monitor& monitor) {
  constexpr std::size_t kBlock = 64;  // interleaved chains hide the latency of the hash
  const std::size_t n = table.x.n_rows;
  const auto columns = columns_with_values(table);
  std::vector<KeyedRow> rows;
  rows.reserve(n);
  std::uint64_t hash[kBlock];
  for (std::size_t from = 0; from < n; from += kBlock) {
    monitor.tick(0);
    const std::size_t size = std::min(kBlock, n - from);
    for (std::size_t i = 0; i < size; ++i) hash[i] = mix(seed ^ mix(static_cast<std::uint64_t>(table.y[from + i])));
    for (const std::size_t j : columns)
      for (std::size_t i = 0; i < size; ++i)
        hash[i] = mix(hash[i] ^ value_bits(table.x(from + i, j)));
    for (std::size_t i = 0; i < size; ++i)
      if (table.weight[from + i] > 0) rows.push_back({hash[i], static_cast<Row>(from + i)});
  }
  return rows;
}

bool same_content(const TableView& table, Row a, Row b) {
  if (table.y[a] != table.y[b]) return false;
  for (std::size_t j = 0; j < table.x.n_columns; ++j)
    if (value_bits(table.x(a, j)) != value_bits(table.x(b, j))) return false;
  return true;
}

// The sum does not depend on the order in which equal rows came.
double ordered_sum(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double v : values) sum += v;
  return sum;
}

// Appends the distinct rows among sorted[from, to), which share one hash (nearly always because they are equal).
void merge_equal(const TableView& table, const std::vector<KeyedRow>& sorted, std::size_t from, std::size_t to,
                 CanonicalRows& out) {
  std::vector<Row> rest;
  for (std::size_t i = from; i < to; ++i) rest.push_back(sorted[i].row);
  while (!rest.empty()) {
    const Row first = rest.front();
    std::vector<double> weights;
    std::vector<Row> others;
    for (const Row r : rest) {
      if (same_content(table, first, r)) weights.push_back(table.weight[r]);
      else others.push_back(r);
    }
    out.row.push_back(first);
    out.key.push_back(sorted[from].key);
    out.weight.push_back(ordered_sum(weights));
    rest.swap(others);
  }
}

void scale_weights(CanonicalRows& rows) {
  double total = 0;
  for (const double w : rows.weight) total += w;
  const auto n = static_cast<double>(rows.weight.size());
  if (total >= n) return;
  for (double& w : rows.weight) w *= n / total;
}

}  // namespace

CanonicalRows canonical_rows(const TableView& table, std::uint64_t seed, Monitor& monitor) {
  auto sorted = hash_rows(table, mix(seed), monitor);
  RowSorter{}(sorted, &monitor);
  CanonicalRows out;
  out.row.reserve(sorted.size());
  out.key.reserve(sorted.size());
  out.weight.reserve(sorted.size());
  for (std::size_t from = 0, to; from < sorted.size(); from = to) {
    if (from % 4096 == 0) monitor.tick(0);
    for (to = from + 1; to < sorted.size() && sorted[to].key == sorted[from].key;) ++to;
    if (to == from + 1) {
      out.row.push_back(sorted[from].row);
      out.key.push_back(sorted[from].key);
      out.weight.push_back(table.weight[sorted[from].row]);
    } else {
      merge_equal(table, sorted, from, to, out);
    }
  }
  scale_weights(out);
  return out;
}

TableView Sample::table() const {
  return {{x.data(), n_rows, n_columns, 1, static_cast<std::ptrdiff_t>(n_rows)}, n_categories.data(), y.data(),
          weight.data(), n_classes};
}

Sample take_rows(const TableView& table, const CanonicalRows& canonical, std::size_t from, std::size_t to) {
  Sample sample;
  const std::size_t n = to - from, d = table.x.n_columns;
  const auto begin = static_cast<std::ptrdiff_t>(from), end = static_cast<std::ptrdiff_t>(to);
  sample.n_rows = n;
  sample.n_columns = d;
  sample.n_classes = table.n_classes;
  sample.n_categories.assign(table.n_categories, table.n_categories + d);
  sample.x.resize(n * d);
  sample.weight.assign(canonical.weight.begin() + begin, canonical.weight.begin() + end);
  sample.key.assign(canonical.key.begin() + begin, canonical.key.begin() + end);
  constexpr std::size_t kBlock = 32;  // rows read once per block while their cache lines are hot
  for (std::size_t first = 0; first < n; first += kBlock)
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t i = first; i < std::min(first + kBlock, n); ++i)
        sample.x[j * n + i] = canonical_value(table.x(canonical.row[from + i], j));
  for (std::size_t i = 0; i < n; ++i) sample.y.push_back(table.y[canonical.row[from + i]]);
  return sample;
}

}  // namespace ferl
