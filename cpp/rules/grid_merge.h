// Curves and maps with fewer steps, and maps without the effects that two curves show.
#pragma once

#include <vector>

#include "rules/grid_boost.h"

namespace ferl::rules {

// What a map is worth beyond two curves of its columns, in nats over all rows: half the curvature times the squares.
double worth_beyond_curves(const GridTable& table, const std::vector<double>& h, const GridTerm& term,
                           std::size_t n_channels);

// Merges neighbouring bins, the cheapest first, as long as removing a line costs less than `price`, in nats. Missing
// values and the categories of a curve keep separate bins.
GridTable merged(const GridTable& table, const std::vector<double>& h, const GridTerm& term, std::size_t n_channels,
                 double price);

// Moves the weighted mean of each line out of a map, until all means are zero. Returns what was moved, [bin of an
// axis][channel], for both axes. Lines without weight stay as they are. weight: [cell]; axes:
// the axes whose lines are centred.
struct MainEffects {
  std::vector<double> first, second;
};
enum class Axes { kBoth, kFirst, kSecond };
MainEffects purify(GridTable& table, const std::vector<double>& weight, std::size_t n_first, std::size_t n_second,
                   std::size_t n_channels, Axes axes = Axes::kBoth);

}  // namespace ferl::rules
