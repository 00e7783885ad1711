#include "rules/tuning.h"

#include <algorithm>
#include <stdexcept>

#include "rules/kernels.h"
#include "rules/refit.h"

namespace ferl::rules {

namespace {

void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

}  // namespace

std::size_t growing(std::size_t n, double share, std::size_t least, std::size_t most, const Tuning& tuning) {
  const double more = share * static_cast<double>(n - std::min(n, tuning.small_rows));
  return std::min(least + padded(static_cast<std::size_t>(more)), std::max(least, most));
}

void check(const Tuning& t) {
  require(t.min_knots >= 3 && t.min_knots <= t.max_knots && t.max_knots <= kMaxKnots && t.weight_per_knot > 0,
          "Knots of a column must be 3 to 24, the fewest no more than the most.");
  require(t.path_rows > 0 && t.path_rows % kWidth == 0 && t.curvature_rows > 0 && t.curvature_rows % kWidth == 0 &&
              t.prune_rows > 0 && t.prune_rows % kWidth == 0,
          "path_rows, curvature_rows and prune_rows must be positive multiples of 8.");
  require(t.most_path_rows % kWidth == 0 && t.most_curvature_rows % kWidth == 0 &&
              t.curvature_rows <= t.most_curvature_rows,
          "most_path_rows and most_curvature_rows must be multiples of 8, and no fewer than curvature_rows.");
  require(std::min({t.path_share, t.scan_share, t.curvature_share}) >= 0, "Shares of rows must not be negative.");
  require(t.least_pieces > 1 && t.most_pieces > 0 && t.heavy_row > 0,
          "least_pieces must be 2 or more, most_pieces and heavy_row must be positive.");
  require(t.min_scan_rows > 0 && t.min_scan_rows <= t.max_scan_rows, "min_scan_rows must be 1 to max_scan_rows.");
  require(t.refit_every > 0 && t.refit_rule_share > 0 && t.refit_channel_share > 0 && t.beam > 0 && t.averaged > 0 &&
              t.next_size > 1 && t.fitted_rows > 0 && t.validation_rows > 0 && t.small_rows > 0 &&
              t.set_orderings > 0 && t.most_parts > 0 && t.parts_channels > 0,
          "Numbers of rules, rows and steps must be positive.");
  require(std::min({t.parts_of_few, t.parts_of_some, t.parts_of_many}) >= 2, "There must be at least two parts.");
  require(std::min({t.most_path_work, t.most_scan_work, t.most_validation_work, t.most_fitted_work}) > 0,
          "The most work must be positive.");
  require(!t.ridges.empty() && !t.scales.empty() && t.scales.front() == 1 &&
              *std::min_element(t.ridges.begin(), t.ridges.end()) > 0,
          "There must be a positive ridge, and the first scale must be 1.");
  require(t.smoothing > 0 && t.newton_smoothing > 0 && t.intercept_ridge > 0 && t.least_spread > 0,
          "Smoothings, the ridge of the intercept and the least spread must be positive.");
  require(t.min_curve_bins >= 2 && t.min_curve_bins <= t.max_curve_bins && t.max_curve_bins <= 30'000 &&
              t.min_map_bins >= 2 && t.min_map_bins <= t.max_map_bins && t.max_map_bins <= 100 &&
              t.grid_categories <= 200 && t.weight_per_bin > 0 && t.weight_per_map > 0 && t.grid_many_classes > 0 &&
              t.grid_scan_bins >= 2 && t.grid_scan_bins <= 100,
          "Curves must have 2 to 30,000 bins and maps 2 to 100 on an axis, the fewest no more than the most.");
  require(t.grid_ridge > 0 && t.grid_rate > 0 && t.grid_fast_rate > 0 && t.grid_together > 0 && t.grid_bin_rows > 0 &&
              t.grid_least_rows > 0 && t.grid_levels > 0 && t.grid_few_levels > 0 && t.grid_scan_rows > 0,
          "Rates, rows and levels of curves and maps must be positive.");
}

}  // namespace ferl::rules
