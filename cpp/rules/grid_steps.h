// One step of a curve or of a map: few levels, from the sums of residuals and curvature in its bins. The levels begin
// and end at the same bins for all classes.
#pragma once

#include <cstddef>
#include <vector>

namespace ferl::rules {

// Sums over the rows of each bin of a curve or cell of a map, [bin][channel].
struct GridSums {
  std::vector<double> g, h;
};

struct StepOptions {
  std::size_t n_channels = 1;
  double threshold = 0;      // the least gain; nothing moves below it
  double rate = 0.1;         // the part of a Newton step that is taken
  double ridge = 1;          // added to the curvature of a level
  double least = 3;          // curvature of all channels that a level must have
  double most = 4;           // the largest Newton step on either side
  std::size_t n_levels = 5;  // of a curve or a map; a map has at least four
};

// Adds one cut after the other, each where it gains most. sign: the direction in which levels may go from bin to bin;
// 0: any. Bin 0 holds missing values and is exempt. Overwrites `step`. Returns false if no cut gains enough.
bool curve_step(const GridSums& sums, std::size_t n_bins, int sign, const StepOptions& options,
                std::vector<double>& step);

// Each category has a separate level.
bool category_step(const GridSums& sums, std::size_t n_bins, const StepOptions& options, std::vector<double>& step);

// The gain of a level for each bin over one level for all bins.
double spread_gain(const GridSums& sums, const StepOptions& options);

// First four levels: one cut along an axis, and on either side of it one cut along the other axis. This finds effects
// that neither axis shows alone. Returns their gain; the step is zero if that is below the threshold. Then one cut after
// the other, of the part of the map where it gains most, as long as a cut gains the threshold.
double map_step(const GridSums& sums, std::size_t n_first, std::size_t n_second, const StepOptions& options,
                std::vector<double>& step);

}  // namespace ferl::rules
