// The crisp Gini-optimal cut of one node on one feature: what ranks the features.
#pragma once

#include <cstddef>
#include <vector>

#include "core/kernels.h"
#include "core/types.h"

namespace ferl {

// What a sweep needs of a row, side by side in memory: it is read at random.
struct RowInNode {
  double weight;  // zero: the row does not reach the node
  Label y;
};

// The rows of one node, seen from every feature.
struct NodeView {
  const std::vector<RowInNode>& row;        // indexed by row of the sample
  const std::vector<double>& class_weight;  // totals of the node
  double weight;
};

struct Cut {
  double threshold = 0;
  double gain = 0;                        // Gini decrease times the node's weight; 0: no cut improves
  std::vector<double> left_class_weight;  // of a categorical feature, cross-fitted
};

// `order`: the node's rows by ascending x. Both sides get at least `min_leaf_weight`.
Cut best_cut(const NodeView& node, const Row* order, std::size_t n_rows, const double* x, double min_leaf_weight);

// Halfway between two values, without overflow; the lower one where no number lies between them.
inline double midpoint(double low, double high) {
  const double middle = 0.5 * low + 0.5 * high;
  return middle < high ? middle : low;
}

// Sum of squared class weights over weight: the part of the weighted Gini impurity that depends on a split.
double purity(const std::vector<double>& class_weight, double weight);

// Gini decrease times weight of a split with these left class weights (supplement, Prop. 1): a sum of squares, so never
// negative, and free of the cancellation that a difference of impurities suffers.
double gini_gain(const std::vector<double>& class_weight, double weight, const std::vector<double>& left_class_weight);

}  // namespace ferl
