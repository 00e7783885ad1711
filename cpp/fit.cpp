#include "fit.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "canonical.h"
#include "moments.h"

namespace ferl {

namespace {

// The left side of a split falls across its band, the right side rises.
std::vector<double> trapezoids(const GrownTree& grown) {
  std::vector<double> out;
  for (std::size_t o = 0; o < grown.parent.size(); ++o) {
    const auto [low, high] = grown.band[o];
    std::array<double, 4> t{-kInfinity, -kInfinity, kInfinity, kInfinity};
    if (o > 0 && grown.is_left[o]) t = {-kInfinity, -kInfinity, low, high};
    if (o > 0 && !grown.is_left[o]) t = {low, high, kInfinity, kInfinity};
    out.insert(out.end(), t.begin(), t.end());
  }
  return out;
}

}  // namespace

Tree make_tree(const std::vector<NodeId>& parent, const std::vector<Column>& column, const double* trapezoid) {
  Tree tree(parent);
  for (std::size_t o = 1; o < tree.size(); ++o) {
    const double* t = trapezoid + 4 * o;
    tree.nodes[o].column = column[o];
    tree.nodes[o].membership = Trapezoid(t[0], t[1], t[2], t[3]);
  }
  return tree;
}

FittedTree fit(const TableView& table, std::uint64_t seed, std::size_t growth_rows, const GrowOptions& options,
               Monitor& monitor) {
  const auto canonical = canonical_rows(table, seed, monitor);
  if (canonical.row.empty()) throw std::invalid_argument("No row has a positive weight.");
  FittedTree fitted;
  GrownTree grown;
  {
    const auto sample = take_rows(table, canonical, 0, std::min(growth_rows, canonical.row.size()));
    fitted.n_growth_rows = sample.n_rows;
    grown = grow(sample, options, monitor);
  }
  fitted.parent = grown.parent;
  fitted.column = grown.column;
  fitted.trapezoid = trapezoids(grown);
  for (const Gain& g : grown.gain)
    fitted.gain.push_back(options.band.criterion == Criterion::gini ? g.first : g.second);
  const auto tree = make_tree(fitted.parent, fitted.column, fitted.trapezoid.data());
  const auto moments = take_moments(tree, table, canonical, options.n_threads, monitor);
  fitted.class_weight = moments.class_weight();
  for (std::size_t o = 0; o < tree.size(); ++o)
    fitted.support.insert(fitted.support.end(), {moments.low[o], moments.high[o]});
  return fitted;
}

}  // namespace ferl
