// The finished tree as inference sees it: nodes in pre-order, each with its own condition.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "ramp.h"
#include "types.h"

namespace ferl {

struct Node {
  std::size_t parent = 0;
  std::size_t end = 0;   // one past the last node of the subtree: the children of o are o + 1, node[o + 1].end, ...
  std::size_t depth = 0;
  Column column = -1;    // of the node's own condition; the root has none
  Trapezoid membership;
  Gate gate;
};

using Ends = std::array<double, 4>;  // of a trapezoid: a, b, c, d
inline constexpr Ends kEverything{-kInfinity, -kInfinity, kInfinity, kInfinity};

// What the resamples say of a split: between which values its best cut lies with 90 % confidence, and the share of
// resamples whose own cut lies inside the band.
struct CutSpread {
  double low, high;
  double share;
};
inline constexpr CutSpread kNoCuts{kNaN, kNaN, kNaN};  // where no split is

// What growth finds, in pre-order: the conditions of a tree and what those below each node gained.
struct GrownTree {
  std::vector<NodeId> parent;
  std::vector<Column> column;     // -1 at the root, as the parent
  std::vector<double> trapezoid;  // [node][4]
  std::vector<double> gain;       // times weight; zero at leaves
  std::vector<double> cuts;       // [node][3]: of the split below it, as CutSpread

  void add(NodeId new_parent, Column new_column, const Ends& ends, double new_gain, const CutSpread& spread = kNoCuts) {
    parent.push_back(new_parent);
    column.push_back(new_column);
    trapezoid.insert(trapezoid.end(), ends.begin(), ends.end());
    gain.push_back(new_gain);
    cuts.insert(cuts.end(), {spread.low, spread.high, spread.share});
  }
};

struct Tree {
  std::vector<Node> nodes;
  std::size_t max_depth = 0;

  // From the parents alone; throws std::invalid_argument unless they describe one tree in pre-order.
  explicit Tree(const std::vector<NodeId>& parent);

  std::size_t size() const { return nodes.size(); }
  bool is_leaf(std::size_t node) const { return nodes[node].end == node + 1; }
  // Whether the children are the two sides of one split, which share a row between them; words need not.
  bool is_split(std::size_t node) const;
};

}  // namespace ferl
