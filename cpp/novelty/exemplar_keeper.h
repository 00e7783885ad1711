// The training rows that each node keeps as its examples: those with the smallest keys among the rows that reach it.
//
// The order of keys is random, so they are a fair sample; and it is the same in whatever pieces the rows come.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.h"

namespace ferl {

constexpr double kExemplarFiring = 0.05;  // a row that fires less is no example of a node

// What one process tells another: rows, and for each node the indices of its own among them, by ascending key.
struct ExemplarTable {
  std::vector<std::uint64_t> key;  // [row], ascending
  std::vector<double> x;           // [row][column]
  std::size_t n_most = 0;          // that a node has
  std::vector<NodeId> exemplar;    // [node][n_most]: index of a row, -1 where a node has fewer
};

class ExemplarKeeper {
 public:
  ExemplarKeeper(std::size_t n_nodes, std::size_t n_columns, std::size_t n_kept);

  bool wants(std::size_t node, std::uint64_t key) const { return n_kept_ > 0 && key <= bound_[node]; }
  NodeId add_row(std::uint64_t key, const double* x, std::ptrdiff_t column_stride);
  void add(std::size_t node, NodeId row);
  void merge(const ExemplarTable& other);
  void merge(const ExemplarKeeper& other);
  void tidy();  // forgets rows that no node keeps any more, when they have become many; others get new indices
  // [node]: the largest key that it still takes. Those of another keeper hold as well if the two are merged later.
  const std::vector<std::uint64_t>& bounds() const { return bound_; }
  void set_bounds(const std::vector<std::uint64_t>& bounds) { bound_ = bounds; }

  ExemplarTable table();  // of what is kept; each row once, however many nodes it is one of

 private:
  struct Kept {
    std::uint64_t key;
    NodeId row;
  };

  bool before(const Kept& a, const Kept& b) const;
  auto by_key() const {  // keys first, where they are compared without a call: nearly all differ
    return [this](const Kept& a, const Kept& b) { return a.key != b.key ? a.key < b.key : before(a, b); };
  }
  bool same_row(const Kept& a, const Kept& b) const;
  void prune(std::size_t node);
  void add_copy(std::size_t node, std::uint64_t key, const double* x, NodeId& index);

  std::size_t n_columns_, n_kept_;
  std::size_t tidy_above_;            // rows
  std::vector<std::uint64_t> bound_;  // [node]
  std::vector<std::vector<Kept>> of_node_;
  std::vector<std::uint64_t> key_;
  std::vector<double> x_;
};

}  // namespace ferl
