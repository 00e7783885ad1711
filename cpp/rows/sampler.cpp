#include "rows/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/free_memory.h"
#include "core/ramp.h"
#include "rows/sort.h"

namespace ferl {

namespace {

constexpr std::size_t kPieceRows = 2048;

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// The n_wanted-th smallest of n keys that differ, or no limit: sought among those below a guess.
class KeyLimit {
 public:
  KeyLimit(std::size_t n, std::size_t n_wanted) : n_wanted_(n_wanted) {
    const double wanted = static_cast<double>(n_wanted), most = wanted + 8 * std::sqrt(wanted);
    if (n_wanted > 0 && most < static_cast<double>(n)) guess_ = static_cast<std::uint64_t>(most / n * 0x1p64);
  }

  bool is_below_guess(std::uint64_t key) const { return key <= guess_; }

  void add(const std::vector<KeyedRow>& below_guess) {
    // Far more than were to be expected: equal rows. They would fill the memory and tell little.
    if (below_.size() > 4 * n_wanted_ + 1000) is_useless_ = true;
    if (is_useless_)
      free_memory(below_);
    else
      append(below_, below_guess);
  }

  std::uint64_t limit() {
    RowSorter{}(below_);
    const auto same = [](const KeyedRow& a, const KeyedRow& b) { return a.key == b.key; };
    below_.erase(std::unique(below_.begin(), below_.end(), same), below_.end());
    return guess_ > 0 && below_.size() >= n_wanted_ ? below_[n_wanted_ - 1].key : kAnyKey;
  }

 private:
  std::size_t n_wanted_;
  std::uint64_t guess_ = 0;
  std::vector<KeyedRow> below_;  // or at the guess; row numbers are not used
  bool is_useless_ = false;
};

}  // namespace

Sampler::Sampler(SamplerOptions options)
    : low(options.n_columns, kInfinity), high(options.n_columns, -kInfinity), options_(std::move(options)),
      hash_(options_.seed, options_.columns), bound_(kAnyKey), class_bound_(options_.n_classes) {
  // No row enters because of its class if no class is promised any rows.
  for (auto& bound : class_bound_) bound = options_.n_class_rows > 0 ? kAnyKey : 0;
  const std::size_t n_classes = options_.n_classes, n_kept = options_.n_rows + n_classes * options_.n_class_rows;
  compact_above_ = n_kept < options_.n_rows ? options_.n_rows : n_kept;  // no overflow where all rows are wanted
  compact_above_ = std::max(compact_above_, 2 * std::min(compact_above_, std::size_t{1} << 40));
}

void Sampler::add(const TableView& table, std::uint64_t first_place, int n_threads, Monitor& monitor) {
  const std::size_t n = table.x.n_rows, n_pieces = (n + kPieceRows - 1) / kPieceRows;
  std::vector<std::uint64_t> keys(n);
  std::vector<std::size_t> n_of_class(options_.n_classes, 0);
  const auto over_pieces = [&](const auto& task) {
    parallel_for(
        n_pieces, n_threads,
        [&](std::size_t piece) {
          const std::size_t first = piece * kPieceRows;
          task(first, std::min(kPieceRows, n - first));
        },
        [&] { monitor.tick(0); });
  };
  over_pieces(
      [&](std::size_t first, std::size_t size) { see_piece(table, first, size, keys.data() + first, n_of_class); });
  // With fewer rows most would enter whatever the bounds.
  if (n >= 2 * options_.n_rows)
    lower_bounds(table, keys, n_of_class, over_pieces);
  else
    reserve(std::accumulate(n_of_class.begin(), n_of_class.end(), std::size_t{0}));
  over_pieces(
      [&](std::size_t first, std::size_t size) { take_piece(table, first_place, first, size, keys.data() + first); });
}

// Reserves memory for n more candidates: arrays that double as they grow hold the rows twice each time. Never reserves
// only a little more, which would copy everything for every block of a stream.
void Sampler::reserve(std::size_t n) {
  const std::size_t wanted = std::min(held_.size() + n, compact_above_);
  if (wanted <= held_.key.capacity() || wanted < 2 * held_.size()) return;
  for (auto* list : {&held_.key, &held_.place, &held_.count}) list->reserve(wanted);
  held_.y.reserve(wanted);
  held_.weight.reserve(wanted);
  held_.x.reserve(wanted * options_.n_columns);
}

// Keys of rows, and what counts however the sample turns out.
void Sampler::see_piece(const TableView& table, std::size_t first, std::size_t n, std::uint64_t* keys,
                        std::vector<std::size_t>& n_of_class) {
  hash_(table, first, n, keys);
  const std::size_t d = options_.n_columns;
  std::vector<double> own_low(d, kInfinity), own_high(d, -kInfinity);
  for (std::size_t j = 0; j < d; ++j)
    for (std::size_t i = first; i < first + n; ++i) {
      // Zero without a sign, so that it does not matter which comes first. Both comparisons fail where it is missing.
      const double x = table.x(i, j) + 0.0;
      const bool counts = table.weight[i] > 0;
      own_low[j] = counts && x < own_low[j] ? x : own_low[j];
      own_high[j] = counts && x > own_high[j] ? x : own_high[j];
    }
  std::vector<std::size_t> own_of_class(options_.n_classes, 0);
  for (std::size_t i = first; i < first + n; ++i) own_of_class[table.y[i]] += table.weight[i] > 0;
  const double own_most = n == 0 ? 0 : *std::max_element(table.weight + first, table.weight + first + n);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t j = 0; j < d; ++j) {
    low[j] = std::min(low[j], own_low[j]);
    high[j] = std::max(high[j], own_high[j]);
  }
  for (std::size_t c = 0; c < own_of_class.size(); ++c) n_of_class[c] += own_of_class[c];
  most_weight = std::max(most_weight, own_most);
}

// Before rows are copied: keys are practically uniform, so few of them can be among the smallest. Equal rows have equal
// keys, and the guess may then be too low; it is not used in this case.
template <class OverPieces>
void Sampler::lower_bounds(const TableView& table, const std::vector<std::uint64_t>& keys,
                           const std::vector<std::size_t>& n_of_class, const OverPieces& over_pieces) {
  std::vector<KeyLimit> limits;  // of each class, and last of all rows
  for (const std::size_t n : n_of_class) limits.emplace_back(n, options_.n_class_rows);
  limits.emplace_back(std::accumulate(n_of_class.begin(), n_of_class.end(), std::size_t{0}), options_.n_rows);
  over_pieces([&](std::size_t first, std::size_t size) {
    std::vector<std::vector<KeyedRow>> below(limits.size());
    for (std::size_t i = first; i < first + size; ++i) {
      if (!(table.weight[i] > 0)) continue;
      for (const std::size_t place : {static_cast<std::size_t>(table.y[i]), limits.size() - 1})
        if (limits[place].is_below_guess(keys[i])) below[place].push_back({keys[i], 0});
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t place = 0; place < limits.size(); ++place) limits[place].add(below[place]);
  });
  bound_ = std::min(bound_.load(), limits.back().limit());
  for (std::size_t c = 0; c < n_of_class.size(); ++c)
    class_bound_[c] = std::min(class_bound_[c].load(), limits[c].limit());
}

void Sampler::take_piece(const TableView& table, std::uint64_t first_place, std::size_t first, std::size_t n,
                         const std::uint64_t* keys) {
  Candidates candidates;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t row = first + i;
    if (!(table.weight[row] > 0) || !may_enter(keys[i], table.y[row])) continue;
    candidates.key.push_back(keys[i]);
    candidates.place.push_back(first_place + row);
    candidates.count.push_back(1);
    candidates.y.push_back(table.y[row]);
    candidates.weight.push_back(table.weight[row]);
    for (std::size_t j = 0; j < options_.n_columns; ++j) candidates.x.push_back(canonical_value(table.x(row, j)));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  add(candidates);
}

void Sampler::add(const Candidates& candidates) {
  append(held_.key, candidates.key);
  append(held_.place, candidates.place);
  append(held_.count, candidates.count);
  append(held_.y, candidates.y);
  append(held_.weight, candidates.weight);
  append(held_.x, candidates.x);
  is_compact_ = is_compact_ && candidates.size() == 0;
  if (held_.size() > compact_above_) {
    compact();
    // If many rows differ only in their weights, little was dropped: do not try again for every piece.
    compact_above_ = std::max(compact_above_, 2 * held_.size());
  }
}

void Sampler::limit(std::uint64_t of_all, const std::vector<std::uint64_t>& of_class) {
  bound_ = std::min(bound_.load(), of_all);
  for (std::size_t c = 0; c < class_bound_.size(); ++c) class_bound_[c] = std::min(class_bound_[c].load(), of_class[c]);
}

bool Sampler::may_enter(std::uint64_t key, Label y) const {
  return key <= bound_.load(std::memory_order_relaxed) || key <= class_bound_[y].load(std::memory_order_relaxed);
}

// By key; rows that happen to share one by their content.
int Sampler::compare(std::size_t a, std::size_t b) const {
  const auto order = [](const auto& u, const auto& v) { return u < v ? -1 : v < u ? 1 : 0; };
  if (const int o = order(held_.key[a], held_.key[b]); o != 0) return o;
  if (const int o = order(held_.y[a], held_.y[b]); o != 0) return o;
  const std::size_t d = options_.n_columns;
  for (std::size_t j = 0; j < d; ++j)
    if (const int o = order(value_bits(held_.x[a * d + j]), value_bits(held_.x[b * d + j])); o != 0) return o;
  return 0;
}

bool Sampler::same_row(std::size_t a, std::size_t b) const { return compare(a, b) == 0; }

std::vector<std::size_t> Sampler::by_key() const {
  std::vector<KeyedRow> sorted(held_.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = {held_.key[i], static_cast<Row>(i)};
  RowSorter{}(sorted);
  std::vector<std::size_t> order;
  order.reserve(sorted.size());
  for (const KeyedRow& keyed : sorted) order.push_back(keyed.row);
  for (std::size_t from = 0, to; from < order.size(); from = to) {  // few share a key
    for (to = from + 1; to < order.size() && sorted[to].key == sorted[from].key;) ++to;
    if (to == from + 1) continue;
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(from), order.begin() + static_cast<std::ptrdiff_t>(to),
              [&](std::size_t a, std::size_t b) {
                const int o = compare(a, b);
                return o != 0 ? o < 0 : held_.weight[a] < held_.weight[b];
              });
  }
  return order;
}

// Which candidates the sample needs, by key; equal ones of equal weight as one. Lowers the bounds to their keys.
std::vector<Sampler::Kept> Sampler::choose() {
  const std::vector<std::size_t> order = by_key();
  std::vector<Kept> kept;
  kept.reserve(order.size());
  std::vector<std::size_t> of_class(options_.n_classes, 0);
  std::size_t n_distinct = 0;
  bool keeps = false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t held = order[i];
    if (i == 0 || !same_row(held, order[i - 1])) {
      const Label y = held_.y[held];
      keeps = n_distinct < options_.n_rows || of_class[y] < options_.n_class_rows;
      if (++n_distinct == options_.n_rows) bound_ = std::min(bound_.load(), held_.key[held]);
      if (++of_class[y] == options_.n_class_rows) class_bound_[y] = std::min(class_bound_[y].load(), held_.key[held]);
    } else if (held_.weight[held] == held_.weight[order[i - 1]]) {
      if (!keeps) continue;
      kept.back().count += held_.count[held];
      kept.back().place = std::min(kept.back().place, held_.place[held]);
      continue;
    }
    if (keeps) kept.push_back({held, held_.count[held], held_.place[held]});
  }
  return kept;
}

void Sampler::compact() {
  if (is_compact_) return;
  const std::size_t d = options_.n_columns;
  const std::vector<Kept> kept = choose();
  Candidates next;
  next.x.reserve(kept.size() * d);
  for (const auto& [held, count, place] : kept) {
    next.key.push_back(held_.key[held]);
    next.place.push_back(place);
    next.count.push_back(count);
    next.y.push_back(held_.y[held]);
    next.weight.push_back(held_.weight[held]);
    next.x.insert(next.x.end(), held_.x.begin() + static_cast<std::ptrdiff_t>(held * d),
                  held_.x.begin() + static_cast<std::ptrdiff_t>((held + 1) * d));
  }
  held_ = std::move(next);
  is_compact_ = true;
}

const Candidates& Sampler::candidates() {
  compact();
  return held_;
}

Sample Sampler::finish(int n_threads) {
  std::vector<Kept> kept = choose();
  if (kept.empty()) throw std::invalid_argument("No row has a positive weight.");
  const std::size_t d = options_.n_columns;
  Sample sample;
  sample.n_columns = d;
  sample.n_classes = options_.n_classes;
  sample.n_categories = options_.n_categories;
  std::vector<Row> first;  // of each distinct row among the candidates
  for (auto* list : {&sample.key, &sample.place}) list->reserve(kept.size());
  sample.y.reserve(kept.size());
  sample.weight.reserve(kept.size());
  first.reserve(kept.size());
  for (const auto& [held, count, place] : kept) {
    const double weight = held_.weight[held] * static_cast<double>(count);
    if (!first.empty() && same_row(held, first.back())) {  // by ascending weight: the sum is the same however they came
      sample.weight.back() += weight;
      sample.place.back() = std::min(sample.place.back(), place);
      continue;
    }
    first.push_back(static_cast<Row>(held));
    sample.key.push_back(held_.key[held]);
    sample.place.push_back(place);
    sample.y.push_back(held_.y[held]);
    sample.weight.push_back(weight);
  }
  const std::size_t n = sample.n_rows = first.size();
  // The values are most of the memory, and here they are twice: all else goes before.
  free_memory(kept, held_.key, held_.place, held_.count, held_.weight, held_.y);
  sample.x.resize(n * d);
  constexpr std::size_t kTile = 64;  // rows that stay in the cache while their columns are written
  const auto turn = [&](std::size_t from, std::size_t to) {
    for (; from < to; from += kTile)
      for (std::size_t j = 0; j < d; ++j)
        for (std::size_t i = from; i < std::min(from + kTile, to); ++i)
          sample.x[j * n + i] = held_.x[std::size_t{first[i]} * d + j];
  };
  parallel_for((n + kPieceRows - 1) / kPieceRows, n_threads,
               [&](std::size_t piece) { turn(piece * kPieceRows, std::min((piece + 1) * kPieceRows, n)); }, [] {});
  held_ = {};
  is_compact_ = true;
  return sample;
}

}  // namespace ferl
