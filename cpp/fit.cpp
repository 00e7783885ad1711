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

FittedTree fit(const TableView& table, std::uint64_t seed, std::size_t growth_rows, const Grow& grow, int n_threads,
               Monitor& monitor) {
  const auto canonical = canonical_rows(table, seed, monitor);
  if (canonical.row.empty()) throw std::invalid_argument("No row has a positive weight.");
  FittedTree fitted;
  {
    const auto sample = take_rows(table, canonical, 0, std::min(growth_rows, canonical.row.size()));
    fitted.n_growth_rows = sample.n_rows;
    fitted.grown = grow(sample, monitor);
  }
  const auto tree = make_tree(fitted.grown.parent, fitted.grown.column, fitted.grown.trapezoid.data());
  const auto moments = take_moments(tree, table, canonical, n_threads, monitor);
  fitted.class_weight = moments.class_weight();
  for (std::size_t o = 0; o < tree.size(); ++o)
    fitted.support.insert(fitted.support.end(), {moments.low[o], moments.high[o]});
  return fitted;
}

}  // namespace ferl
