// Firing of a block of rows: the walk that every reading of the tree shares.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "parallel.h"
#include "tree.h"
#include "types.h"

namespace ferl {

inline constexpr std::size_t kBlockRows = 512;  // a block's lists and outputs stay in the first two caches

// The rows of a block that reach a node, and how strongly.
struct Firing {
  std::vector<Row> row;  // within the block
  std::vector<double> phi;
  std::size_t size = 0;
};

using Levels = std::vector<Firing>;  // one list a depth: those of a node's ancestors stand while it is visited

struct Block {
  MatrixView x;       // the whole table
  std::size_t first;  // of the block's rows in it
  std::size_t size;
  double value(Row row, Column column) const { return x(first + row, column); }
};

// Calls visit(node, firing) in pre-order for every node that some row of the block reaches. A node's firing is its
// parent's times its own membership and gate; a branch that no row reaches is not entered. Walking the nodes outside
// and the rows inside has no branch that depends on the data: measured twice as fast as a walk per row.
template <bool Gated, class Visit>
void walk(const Tree& tree, const Block& block, Levels& level, Visit&& visit) {
  level.resize(tree.max_depth + 1);
  for (auto& firing : level) {
    firing.row.resize(kBlockRows + 1);
    firing.phi.resize(kBlockRows + 1);
  }
  for (std::size_t i = 0; i < block.size; ++i) level[0].row[i] = static_cast<Row>(i), level[0].phi[i] = 1.0;
  level[0].size = block.size;
  visit(std::size_t{0}, level[0]);
  for (std::size_t o = 1; o < tree.size();) {
    const Node& node = tree.nodes[o];
    const Firing& from = level[node.depth - 1];
    Firing& to = level[node.depth];
    std::size_t size = 0;
    for (std::size_t i = 0; i < from.size; ++i) {
      const double x = block.value(from.row[i], node.column);
      double phi = from.phi[i] * node.membership(x);
      if constexpr (Gated) phi *= node.gate(x);
      to.row[size] = from.row[i];
      to.phi[size] = phi;
      size += phi > 0;
    }
    to.size = size;
    if (size > 0) visit(o, to);
    o = size > 0 ? o + 1 : node.end;
  }
}

// Calls read(block, level) for every block of rows, on several threads; `level` is scratch memory for walk.
template <class Read>
void over_blocks(const MatrixView& x, int n_threads, const Read& read) {
  constexpr std::size_t kBlocksPerTask = 8;
  const std::size_t n_blocks = (x.n_rows + kBlockRows - 1) / kBlockRows;
  auto task = [&](std::size_t t) {
    Levels level;
    for (std::size_t b = t * kBlocksPerTask; b < std::min((t + 1) * kBlocksPerTask, n_blocks); ++b)
      read(Block{x, b * kBlockRows, std::min(kBlockRows, x.n_rows - b * kBlockRows)}, level);
  };
  parallel_for((n_blocks + kBlocksPerTask - 1) / kBlocksPerTask, n_threads, task, [] {});
}

}  // namespace ferl
