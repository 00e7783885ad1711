#include "fit.h"

#include <algorithm>
#include <stdexcept>

#include "canonical.h"
#include "moments.h"

namespace ferl {

Tree make_tree(const std::vector<NodeId>& parent, const std::vector<Column>& column, const double* trapezoid) {
  Tree tree(parent);
  for (std::size_t o = 1; o < tree.size(); ++o) {
    const double* t = trapezoid + 4 * o;
    tree.nodes[o].column = column[o];
    tree.nodes[o].membership = Trapezoid(t[0], t[1], t[2], t[3]);
  }
  return tree;
}

namespace {

// Each exemplar is kept once, however many nodes it is one of.
void keep_exemplars(const std::vector<std::vector<std::size_t>>& exemplars, const TableView& table,
                    const CanonicalRows& canonical, FittedTree& fitted) {
  std::vector<std::size_t> all;
  for (const auto& rows : exemplars) {
    all.insert(all.end(), rows.begin(), rows.end());
    fitted.n_exemplars = std::max(fitted.n_exemplars, rows.size());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const std::size_t row : all)
    for (std::size_t j = 0; j < table.x.n_columns; ++j)
      fitted.exemplar_row.push_back(table.x(canonical.row[row], j) + 0.0);  // -0 and 0 are equal, but not in their bits
  for (const auto& rows : exemplars)
    for (std::size_t k = 0; k < fitted.n_exemplars; ++k)
      fitted.exemplar.push_back(
          k < rows.size() ? static_cast<NodeId>(std::lower_bound(all.begin(), all.end(), rows[k]) - all.begin()) : -1);
}

}  // namespace

FittedTree fit(const TableView& table, std::uint64_t seed, std::size_t growth_rows, std::size_t n_exemplars,
               const Grow& grow, int n_threads, Monitor& monitor) {
  const auto canonical = canonical_rows(table, seed, monitor);
  if (canonical.row.empty()) throw std::invalid_argument("No row has a positive weight.");
  FittedTree fitted;
  {
    const auto sample = take_rows(table, canonical, 0, std::min(growth_rows, canonical.row.size()));
    fitted.n_growth_rows = sample.n_rows;
    fitted.grown = grow(sample, monitor);
  }
  const auto tree = make_tree(fitted.grown.parent, fitted.grown.column, fitted.grown.trapezoid.data());
  // Of all rows: those of a sample may be a point beside what it left out, and the sums would clip it.
  const FeatureRanges ranges(table);
  const auto moments = take_moments(tree, table, canonical, ranges, n_exemplars, n_threads, monitor);
  fitted.class_weight = moments.class_weight();
  for (std::size_t o = 0; o < tree.size(); ++o)
    fitted.support.insert(fitted.support.end(), {moments.low[o], moments.high[o]});
  fitted.mean = moments.mean();
  fitted.variance = moments.variance();
  keep_exemplars(moments.exemplars, table, canonical, fitted);
  return fitted;
}

}  // namespace ferl
