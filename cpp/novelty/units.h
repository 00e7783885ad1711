// Rows in units of distance: what the search of exemplars and of similar cases share.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types.h"

namespace ferl {

// Values further away than this in units are all equally far for the search, so that no sum of them overflows.
inline constexpr double kFarAway = 1e15;

// What distances are measured in.
struct Scale {
  std::vector<double> centre;              // [column]: stands for a value that a kept row lacks
  std::vector<double> per_unit;            // [column]: one over the unit; categories that differ are one apart
  std::vector<std::int32_t> n_categories;  // [column]; 0: a number
};

// Puts rows into single precision, in units, numbers before categories.
class Units {
 public:
  explicit Units(Scale scale);

  std::size_t n_columns() const { return scale_.per_unit.size(); }
  std::size_t n_numbers() const { return n_numbers_; }
  bool is_number(std::size_t j) const { return scale_.n_categories[j] == 0; }
  double centre(std::size_t j) const { return scale_.centre[j]; }
  const double* per_unit() const { return scale_.per_unit.data(); }
  const double* is_category() const { return is_category_.data(); }  // [column]: 1 or 0
  // [column, numbers first]: how far categories that differ are apart.
  const std::vector<float>& mismatch() const { return mismatch_; }

  // A row in units; whether a value is missing.
  bool of(const double* values, std::ptrdiff_t stride, float* out) const;
  // A kept row in units: the centre where a number is missing, a category like no other where a category is.
  void of_kept(const double* values, float* out) const;

  // How far a value is from that of a kept row, before it is divided by the unit; 0 where it is missing.
  double away(double value, double kept, std::size_t j) const {
    if (is_missing(value)) return 0;
    if (!is_number(j)) return value != kept;
    return std::abs(value - kept);
  }

 private:
  Scale scale_;
  std::size_t n_numbers_ = 0;
  std::vector<std::size_t> column_;        // numbers first
  std::vector<float> mismatch_;            // in this order
  std::vector<double> centre_, per_unit_;  // likewise
  std::vector<double> is_category_;
};

}  // namespace ferl
