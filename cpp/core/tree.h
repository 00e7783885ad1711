// The finished tree as inference sees it: nodes in pre-order, each with its own condition.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/ramp.h"
#include "core/types.h"

namespace ferl {

// How open the gate of a split is to a category that none of the rows that grew it had.
inline constexpr double kUnseenGate = 0.5;

struct Node {
  std::size_t parent = 0;
  std::size_t end = 0;  // one past the last node of the subtree: the children of o are o + 1, node[o + 1].end, ...
  std::size_t depth = 0;
  Column column = -1;  // of the node's own condition; the root has none
  Trapezoid membership;
  Gate gate;
  double share = 0;              // of its parent's weight: the membership of a missing value
  std::vector<double> category;  // membership of each category, NaN: not seen; empty where the column holds numbers
  bool is_split = false;         // the children are the two sides of one split, which share a row between them

  bool is_categorical() const { return !category.empty(); }
  bool has_seen(double code) const {
    return code >= 0 && code < static_cast<double>(category.size()) &&
           !is_missing(category[static_cast<std::size_t>(code)]);
  }
  // Membership and gate of any value.
  double fits(double x) const {
    if (is_missing(x)) return share;
    if (is_categorical()) return has_seen(x) ? category[static_cast<std::size_t>(x)] : share;
    return membership(x);
  }
  double opens(double x) const {
    if (is_missing(x)) return 1;
    if (is_categorical()) return has_seen(x) ? 1 : kUnseenGate;
    return gate(x);
  }
};

using Ends = std::array<double, 4>;  // of a trapezoid: a, b, c, d
inline constexpr Ends kEverything{-kInfinity, -kInfinity, kInfinity, kInfinity};

// The condition of a node.
struct Condition {
  Column column = -1;
  Ends ends = kEverything;
  double share = 1;
  std::vector<double> category;
};

// The cuts of a split in the resamples: the 90 % confidence interval of its best cut, and the share of resamples whose
// cut lies inside the band.
struct CutSpread {
  double low, high;
  double share;
};
inline constexpr CutSpread kNoCuts{kNaN, kNaN, kNaN};  // where no split is

// What growth finds, in pre-order: the conditions of a tree and what those below each node gained.
struct GrownTree {
  std::vector<NodeId> parent;
  std::vector<Column> column;                 // -1 at the root, as the parent
  std::vector<double> trapezoid;              // [node][4]
  std::vector<double> gain;                   // times weight; zero at leaves
  std::vector<double> cuts;                   // [node][3]: of the split below it, as CutSpread
  std::vector<double> share;                  // of the parent's weight: the membership of a missing value
  std::vector<std::vector<double>> category;  // as in Node
  std::vector<std::uint64_t> key_bound;       // no exemplar of the node has a larger key

  void add(NodeId new_parent, Condition condition, double new_gain, const CutSpread& spread = kNoCuts,
           std::uint64_t new_key_bound = kAnyKey) {
    parent.push_back(new_parent);
    column.push_back(condition.column);
    trapezoid.insert(trapezoid.end(), condition.ends.begin(), condition.ends.end());
    share.push_back(condition.share);
    category.push_back(std::move(condition.category));
    gain.push_back(new_gain);
    cuts.insert(cuts.end(), {spread.low, spread.high, spread.share});
    key_bound.push_back(new_key_bound);
  }
};

struct Tree {
  std::vector<Node> nodes;
  std::size_t max_depth = 0;

  // From the parents alone; throws std::invalid_argument unless they describe one tree in pre-order.
  explicit Tree(const std::vector<NodeId>& parent);

  std::size_t size() const { return nodes.size(); }
  bool is_leaf(std::size_t node) const { return nodes[node].end == node + 1; }
  bool is_split(std::size_t node) const { return nodes[node].is_split; }
  void mark_splits();  // once conditions are set

 private:
  static bool are_two_sides(const Node& left, const Node& right);
};

// The tree that inference walks; its gates are always open.
Tree make_tree(const GrownTree& grown);

}  // namespace ferl
