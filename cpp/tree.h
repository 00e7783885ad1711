// The finished tree as inference sees it: nodes in pre-order, each with its own condition.
#pragma once

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

struct Tree {
  std::vector<Node> nodes;
  std::size_t max_depth = 0;

  // From the parents alone; throws std::invalid_argument unless they describe one tree in pre-order.
  explicit Tree(const std::vector<NodeId>& parent);

  std::size_t size() const { return nodes.size(); }
  bool is_leaf(std::size_t node) const { return nodes[node].end == node + 1; }
};

}  // namespace ferl
