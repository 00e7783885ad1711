// A few rows that cover many: each of the others is near one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types.h"

namespace ferl {

// Values of rows that are compared, in units of distance: numbers are as far apart as they differ, categories that
// differ are `mismatch` apart.
struct CoverRows {
  std::size_t n = 0;
  std::vector<float> value;     // [column][row], no NaN: what is missing counts as the centre, or as a category of its own
  std::vector<float> mismatch;  // [column]; below zero: the column holds numbers
};

// Indices, ascending, of `n_kept` rows: the first, and then again and again the row that is farthest from all chosen
// ones (the first of equals). No other choice of as many rows has less than half of its largest distance to a row
// (Gonzalez, 1985).
std::vector<std::int32_t> choose_cover(const CoverRows& rows, std::size_t n_kept);

}  // namespace ferl
