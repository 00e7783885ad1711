#include "core/tree.h"

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

void Tree::mark_splits() {
  for (std::size_t o = 0; o < size(); ++o) {
    const std::size_t end = nodes[o].end, first = o + 1;
    const bool has_two = first != end && nodes[first].end != end && nodes[nodes[first].end].end == end;
    nodes[o].is_split = has_two && are_two_sides(nodes[first], nodes[nodes[first].end]);
  }
}

bool Tree::are_two_sides(const Node& left, const Node& right) {
  if (left.column != right.column || left.category.size() != right.category.size()) return false;
  for (std::size_t k = 0; k < left.category.size(); ++k)
    if (!is_missing(left.category[k]) && left.category[k] + right.category[k] != 1) return false;
  if (left.is_categorical()) return true;
  // The left side is empty where the right one is full, and the other way round.
  const Side &fall = left.membership.fall, &rise = right.membership.rise;
  return left.membership.rise.slope == 0 && right.membership.fall.slope == 0 && fall.slope == rise.slope &&
         rise.start < fall.start;
}

Tree make_tree(const GrownTree& grown) {
  Tree tree(grown.parent);
  for (std::size_t o = 1; o < tree.size(); ++o) {
    const double* ends = grown.trapezoid.data() + 4 * o;
    Node& node = tree.nodes[o];
    node.column = grown.column[o];
    node.membership = Trapezoid(ends[0], ends[1], ends[2], ends[3]);
    node.share = grown.share[o];
    node.category = grown.category[o];
  }
  tree.mark_splits();
  return tree;
}

}  // namespace ferl
