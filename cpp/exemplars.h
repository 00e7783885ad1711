// The training rows that each node keeps as its examples: those with the smallest keys among the rows that reach it.
//
// The order of keys is random, so they are a fair sample; and it is the same in whatever pieces the rows come.
#pragma once

#include <cstdint>
#include <vector>

#include "types.h"

namespace ferl {

// What is told to others: rows, and for each node the places of its own among them, by ascending key.
struct ExemplarTable {
  std::vector<std::uint64_t> key;  // [row], ascending
  std::vector<double> x;           // [row][column]
  std::size_t n_most = 0;          // that a node has
  std::vector<NodeId> exemplar;    // [node][n_most]: place of a row, -1 where a node has fewer
};

class ExemplarKeeper {
 public:
  ExemplarKeeper(std::size_t n_nodes, std::size_t n_columns, std::size_t n_kept);

  bool wants(std::size_t node, std::uint64_t key) const { return n_kept_ > 0 && key <= bound_[node]; }
  NodeId add_row(std::uint64_t key, const double* x, std::ptrdiff_t column_stride);
  void add(std::size_t node, NodeId row);
  void merge(const ExemplarTable& other);
  // Take over what another one turns away.
  void copy_bounds(const ExemplarKeeper& other) { bound_ = other.bound_; }

  ExemplarTable table();  // of what is kept; each row once, however many nodes it is one of

 private:
  bool before(NodeId a, NodeId b) const;
  bool same_row(NodeId a, NodeId b) const;
  void prune(std::size_t node);
  void drop_unused_rows();

  std::size_t n_columns_, n_kept_;
  std::vector<std::uint64_t> bound_;         // [node]: the largest key it still takes
  std::vector<std::vector<NodeId>> of_node_;  // places of rows
  std::vector<std::uint64_t> key_;
  std::vector<double> x_;
  std::size_t drop_above_ = 4096;  // rows
};

}  // namespace ferl
