// A few rows that cover many: each of the others is near one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "core/types.h"

namespace ferl {

// Values of rows that are compared, in units of distance: numbers are as far apart as they differ, categories that
// differ are `mismatch` apart.
class CoverRows {
 public:
  // mismatch: of each column; below zero: the column holds numbers.
  CoverRows(std::size_t n_rows, std::vector<float> mismatch);

  // No NaN: what is missing counts as the centre, or as a separate category.
  void set(std::size_t row, std::size_t column, float value) { value_[place(row, column)] = value; }

  // Indices, ascending, of `n_kept` rows: the first, and then again and again the row that is farthest from all chosen
  // ones (the first of equals). No other choice of as many rows has less than half of its largest distance to a row
  // (Gonzalez, 1985).
  std::vector<std::int32_t> choose(std::size_t n_kept) const;

 private:
  std::size_t place(std::size_t row, std::size_t column) const;

  std::size_t n_, n_vectors_;
  std::vector<float> mismatch_;
  AlignedVector<float> value_;  // [vector of rows][column][lane]
};

}  // namespace ferl
