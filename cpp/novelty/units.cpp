#include "novelty/units.h"

#include <algorithm>
#include <utility>

#include "core/kernels.h"

namespace ferl {

Units::Units(Scale scale) : scale_(std::move(scale)) {
  for (const bool number : {true, false})
    for (std::size_t j = 0; j < n_columns(); ++j)
      if (is_number(j) == number) column_.push_back(j), n_numbers_ += number;
  for (const std::size_t j : column_) mismatch_.push_back(static_cast<float>(scale_.per_unit[j]));
}

bool Units::of(const double* values, std::ptrdiff_t stride, float* out) const {
  if (n_numbers_ == column_.size()) {
    kernels().to_units(values, stride, n_numbers_, scale_.centre.data(), scale_.per_unit.data(), kFarAway, out);
  } else {
    for (std::size_t k = 0; k < column_.size(); ++k) {
      const std::size_t j = column_[k];
      const double value = values[static_cast<std::ptrdiff_t>(j) * stride];
      if (k < n_numbers_)
        kernels().to_units(&value, 1, 1, &scale_.centre[j], &scale_.per_unit[j], kFarAway, out + k);
      else
        out[k] = static_cast<float>(value);
    }
  }
  return std::any_of(out, out + column_.size(), [](float unit) { return std::isnan(unit); });
}

void Units::of_kept(const double* values, float* out) const {
  of(values, 1, out);
  for (std::size_t k = 0; k < column_.size(); ++k)
    if (std::isnan(out[k])) out[k] = k < n_numbers_ ? 0.0F : -1.0F;
}

}  // namespace ferl
