// Bins of the columns that curves and maps are made of. They come from the values of the whole sample and do not depend
// on the classes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/thread_pool.h"
#include "rows/sample.h"
#include "rules/tuning.h"

namespace ferl::rules {

// The bins of a column. Numbers: bin 0 is missing; n cuts make n + 1 further bins. Categories: bin 0 is missing, then
// one bin for each category, then one for categories outside the training rows.
struct Bins {
  Column column = -1;
  bool is_categorical = false;
  std::vector<double> cuts;          // ascending; a value that equals one lies below it
  std::vector<std::uint8_t> of_map;  // [bin]: the bin on the axis of a map, which holds neighbours together
  std::size_t n_bins = 0, n_map_bins = 0;
  std::vector<double> map_cuts() const;  // the cuts between bins of a map
};

// Cuts between ascending values: a value with a share of 1 / most has a separate bin, the others share bins of equal
// weight. Result: the values after which a cut comes.
std::vector<std::size_t> cut_places(const std::vector<double>& weight, std::size_t most);

// Between two values; the upper one lies above it.
double cut_between(double below, double above);

// Bins of a number or of categories; column -1: constant, or too many categories.
Bins make_bins(const Sample& sample, Column column, double weight, const Tuning& tuning);

// The bins of all rows of the sample, in uint16 and, on the axes of maps, in bytes.
struct BinnedColumn {
  Bins bins;
  std::vector<std::uint16_t> bin;
  std::vector<std::uint8_t> map_bin;
};
std::vector<BinnedColumn> bin_columns(const Sample& sample, const Tuning& tuning, ThreadPool& pool);

}  // namespace ferl::rules
