#include "tree.h"

#include <algorithm>
#include <stdexcept>

namespace ferl {

Tree::Tree(const std::vector<NodeId>& parent) : nodes(parent.size()) {
  if (parent.empty() || parent[0] != -1) throw std::invalid_argument("The first node of a tree must be its root.");
  std::vector<std::size_t> path{0};  // from the root to the last node placed
  for (std::size_t i = 1; i < parent.size(); ++i) {
    while (!path.empty() && static_cast<NodeId>(path.back()) != parent[i]) path.pop_back();
    if (path.empty()) throw std::invalid_argument("The nodes of a tree must be in pre-order.");
    nodes[i].parent = path.back();
    nodes[i].depth = path.size();
    max_depth = std::max(max_depth, path.size());
    path.push_back(i);
  }
  for (std::size_t i = parent.size(); i-- > 0;) {
    nodes[i].end = std::max(nodes[i].end, i + 1);
    if (i > 0) nodes[nodes[i].parent].end = std::max(nodes[nodes[i].parent].end, nodes[i].end);
  }
}

bool Tree::is_split(std::size_t node) const {
  const std::size_t end = nodes[node].end, first = node + 1;
  if (first == end || nodes[first].end == end) return false;
  const Node &left = nodes[first], &right = nodes[left.end];
  const Side &fall = left.membership.fall, &rise = right.membership.rise;
  const bool has_two_sides = left.membership.rise.slope == 0 && right.membership.fall.slope == 0;
  // The left side is empty where the right one is full, and the other way round.
  return right.end == end && left.column == right.column && has_two_sides && fall.slope == rise.slope &&
         rise.start < fall.start;
}

}  // namespace ferl
