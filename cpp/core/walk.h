// Firing of a block of rows: the walk that every reading of the tree shares.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "core/parallel.h"
#include "core/tree.h"
#include "core/types.h"

namespace ferl {

inline constexpr std::size_t kBlockRows = 256;  // a block's values and lists stay in the first two caches

// The rows of a block that reach a node, and how strongly.
struct Firing {
  Firing() {}  // leaves the arrays unset: to set them costs more than the walk of a single row
  std::size_t size = 0;
  std::array<Row, kBlockRows + 1> row;  // within the block; + 1: compaction writes one past the end
  std::array<double, kBlockRows + 1> phi;
};

using Levels = std::vector<Firing>;  // one list for each depth: a node's ancestors keep theirs while it is visited

struct Block {
  MatrixView x;       // the whole table
  std::size_t first;  // of the block's rows in it
  std::size_t size;
  double value(Row row, Column column) const { return x(first + row, column); }
};

// The rows that reach a node, from the rows that reach its parent.
void fire_node(const Node& node, const Block& block, bool gated, const Firing& parent, Firing& firing);

// Calls visit(node, firing) in pre-order for every node that some row of the block reaches. A node's firing is its
// parent's times its own membership and gate; a branch that no row reaches is not entered.
template <class Visit>
void walk(const Tree& tree, const Block& block, bool gated, Levels& level, Visit&& visit) {
  level.resize(tree.max_depth + 1);
  level[0].size = block.size;
  for (std::size_t i = 0; i < block.size; ++i) level[0].row[i] = static_cast<Row>(i), level[0].phi[i] = 1.0;
  visit(std::size_t{0}, level[0]);
  for (std::size_t o = 1; o < tree.size();) {
    const Node& node = tree.nodes[o];
    Firing& firing = level[node.depth];
    fire_node(node, block, gated, level[node.depth - 1], firing);
    if (firing.size > 0) visit(o, firing);
    o = firing.size > 0 ? o + 1 : node.end;
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
