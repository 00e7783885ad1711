#include "novelty/exemplar_keeper.h"

#include <algorithm>

#include "rows/hash.h"

namespace ferl {

namespace {

constexpr std::size_t kWorthTidying = 2'000'000;  // values, 16 MB
constexpr std::size_t kFewRows = 256;

}  // namespace

ExemplarKeeper::ExemplarKeeper(std::size_t n_nodes, std::size_t n_columns, std::size_t n_kept)
    : n_columns_(n_columns), n_kept_(n_kept),
      tidy_above_(std::max(kFewRows, kWorthTidying / std::max<std::size_t>(n_columns, 1))), bound_(n_nodes, kAnyKey),
      of_node_(n_nodes) {}

NodeId ExemplarKeeper::add_row(std::uint64_t key, const double* x, std::ptrdiff_t column_stride) {
  key_.push_back(key);
  for (std::size_t j = 0; j < n_columns_; ++j)
    x_.push_back(canonical_value(x[static_cast<std::ptrdiff_t>(j) * column_stride]));
  return static_cast<NodeId>(key_.size() - 1);
}

void ExemplarKeeper::add(std::size_t node, NodeId row) {
  of_node_[node].push_back({key_[row], row});
  if (of_node_[node].size() > 2 * n_kept_) prune(node);
}

bool ExemplarKeeper::before(const Kept& a, const Kept& b) const {
  if (a.key != b.key) return a.key < b.key;
  const double *u = x_.data() + a.row * n_columns_, *v = x_.data() + b.row * n_columns_;
  return std::lexicographical_compare(u, u + n_columns_, v, v + n_columns_,
                                      [](double one, double other) { return value_bits(one) < value_bits(other); });
}

bool ExemplarKeeper::same_row(const Kept& a, const Kept& b) const {
  return a.key == b.key && !before(a, b) && !before(b, a);
}

void ExemplarKeeper::prune(std::size_t node) {
  auto& rows = of_node_[node];
  const auto same = [&](const Kept& a, const Kept& b) { return same_row(a, b); };
  bool are_sorted = false;
  if (rows.size() > n_kept_) {  // nearly always the first ones differ, and the others need not be sorted
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(n_kept_);
    std::nth_element(rows.begin(), end, rows.end(), by_key());
    std::sort(rows.begin(), end, by_key());
    are_sorted = std::adjacent_find(rows.begin(), end, same) == end;
  }
  if (!are_sorted) {
    std::sort(rows.begin(), rows.end(), by_key());
    rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
  }
  if (rows.empty() || rows.size() < n_kept_) return;
  rows.resize(n_kept_);
  bound_[node] = rows.back().key;
}

// A row of another keeper: copied here when a node first wants it.
void ExemplarKeeper::add_copy(std::size_t node, std::uint64_t key, const double* x, NodeId& index) {
  if (index < 0) index = add_row(key, x, 1);
  add(node, index);
}

void ExemplarKeeper::merge(const ExemplarTable& other) {
  std::vector<NodeId> index(other.key.size(), -1);
  for (std::size_t node = 0; node < of_node_.size(); ++node)
    for (std::size_t k = 0; k < other.n_most; ++k) {
      const NodeId row = other.exemplar[node * other.n_most + k];
      if (row < 0 || !wants(node, other.key[row])) break;  // by ascending key
      add_copy(node, other.key[row], other.x.data() + row * n_columns_, index[row]);
    }
  tidy();
}

void ExemplarKeeper::merge(const ExemplarKeeper& other) {
  std::vector<NodeId> index(other.key_.size(), -1);
  for (std::size_t node = 0; node < of_node_.size(); ++node)
    for (const auto& [key, row] : other.of_node_[node])
      if (wants(node, key)) add_copy(node, key, other.x_.data() + row * n_columns_, index[row]);
  tidy();
}

void ExemplarKeeper::tidy() {
  if (key_.size() <= tidy_above_) return;
  ExemplarTable kept = table();
  key_ = std::move(kept.key);
  x_ = std::move(kept.x);
  for (std::size_t node = 0; node < of_node_.size(); ++node) {
    of_node_[node].clear();
    for (std::size_t k = 0; k < kept.n_most && kept.exemplar[node * kept.n_most + k] >= 0; ++k)
      add(node, kept.exemplar[node * kept.n_most + k]);
  }
  tidy_above_ = std::max(tidy_above_, 2 * key_.size());
}

ExemplarTable ExemplarKeeper::table() {
  ExemplarTable out;
  std::vector<bool> is_used(key_.size(), false);
  for (std::size_t node = 0; node < of_node_.size(); ++node) {
    prune(node);
    out.n_most = std::max(out.n_most, of_node_[node].size());
    for (const Kept& own : of_node_[node]) is_used[own.row] = true;
  }
  std::vector<Kept> rows;
  for (std::size_t row = 0; row < key_.size(); ++row)
    if (is_used[row]) rows.push_back({key_[row], static_cast<NodeId>(row)});
  std::sort(rows.begin(), rows.end(), by_key());
  std::vector<NodeId> index(key_.size(), -1);  // among the rows that are sent; equal rows share one
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || !same_row(rows[i], rows[i - 1])) {
      out.key.push_back(rows[i].key);
      const auto first = x_.begin() + static_cast<std::ptrdiff_t>(rows[i].row * n_columns_);
      out.x.insert(out.x.end(), first, first + static_cast<std::ptrdiff_t>(n_columns_));
    }
    index[rows[i].row] = static_cast<NodeId>(out.key.size() - 1);
  }
  for (const auto& own : of_node_)
    for (std::size_t k = 0; k < out.n_most; ++k) out.exemplar.push_back(k < own.size() ? index[own[k].row] : -1);
  return out;
}

}  // namespace ferl
