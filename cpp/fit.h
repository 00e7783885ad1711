// A fit from beginning to end.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "canonical.h"
#include "parallel.h"
#include "tree.h"
#include "types.h"

namespace ferl {

// The arrays of a fitted tree, nodes in pre-order; what they mean is said in Python's FuzzyTree.
struct FittedTree {
  GrownTree grown;
  std::vector<double> support;       // [node][2]
  std::vector<double> class_weight;  // [node][class]
  std::vector<double> mean, variance;  // [node][feature]
  std::size_t n_exemplars = 0;         // most that a node has
  std::vector<NodeId> exemplar;        // [node][n_exemplars]: place in exemplar_row, -1 where a node has fewer
  std::vector<double> exemplar_row;    // [exemplar][feature]
  std::size_t n_growth_rows = 0;
};

using Grow = std::function<GrownTree(const Sample&, Monitor&)>;

// Conditions are chosen by `grow` on at most `growth_rows` rows; class weights and ranges come from all of them.
FittedTree fit(const TableView& table, std::uint64_t seed, std::size_t growth_rows, std::size_t n_exemplars,
               const Grow& grow, int n_threads, Monitor& monitor);

// The tree that inference walks; its gates are always open.
Tree make_tree(const std::vector<NodeId>& parent, const std::vector<Column>& column, const double* trapezoid);

}  // namespace ferl
