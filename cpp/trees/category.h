// Splits of a categorical feature: the categories are ordered by what classes they hold, and cut in two.
//
// With two classes the best subset is a cut of this order (Breiman et al. 1984); with more, categories are ordered
// along the principal direction in which their class shares differ (Coppersmith et al. 1999), and the best cut of it is
// near the best subset. Shares are drawn towards the node's shares by a few rows, so that rare categories stay in the
// middle.
#pragma once

#include <vector>

#include "core/types.h"
#include "rows/sample.h"
#include "trees/bootstrap.h"
#include "trees/split.h"

namespace ferl {

// The rows of a node that have a value of one categorical feature, by ascending code.
struct CategoryRows {
  const NodeView& node;  // its class weights belong to these rows
  const Row* order;
  std::size_t n_rows;
  const double* x;
};

// How many equal rows each row of a sample stands for: equal rows are one row of the sum of their weights. `unit`:
// weight of a single row of each class. Where weights are no multiples of it they are not counts, and every row is one.
std::vector<double> copies_of_rows(const Sample& sample, const std::vector<double>& unit);

// Class weights that go left when every row is judged by a subset found without it: categories that are many and small
// find no cut that holds outside the rows it was found on, and gain nothing by their number. Empty: nothing separates,
// or what separates these rows misleads about the others.
// `copies`: of each row of the sample; equal rows are divided as others are.
std::vector<double> cross_fitted_left(const CategoryRows& rows, const std::vector<double>& copies,
                                      double min_leaf_weight);

// For each of n_categories the share of resamples that put it left; NaN where no resample that found a cut had it.
std::vector<double> category_band(const CategoryRows& rows, int n_categories, const Resamples& resamples,
                                  double min_leaf_weight);

}  // namespace ferl
