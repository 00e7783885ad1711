#include "novelty/units.h"

#include <algorithm>
#include <utility>

#include "core/kernels.h"

namespace ferl {

Units::Units(Scale scale) : scale_(std::move(scale)) {
  for (const bool number : {true, false})
    for (std::size_t j = 0; j < n_columns(); ++j)
      if (is_number(j) == number) column_.push_back(j), n_numbers_ += number;
  for (const std::size_t j : column_) {
    mismatch_.push_back(static_cast<float>(scale_.per_unit[j]));
    if (is_number(j)) centre_.push_back(scale_.centre[j]), per_unit_.push_back(scale_.per_unit[j]);
  }
}

bool Units::of(const double* values, std::ptrdiff_t stride, float* out) const {
  if (n_numbers_ == column_.size()) {
    kernels().to_units(values, stride, n_numbers_, scale_.centre.data(), scale_.per_unit.data(), kFarAway, out);
  } else {
    constexpr std::size_t kAtOnce = 32;
    double number[kAtOnce];
    const auto value = [&](std::size_t k) { return values[static_cast<std::ptrdiff_t>(column_[k]) * stride]; };
    for (std::size_t first = 0; first < n_numbers_; first += kAtOnce) {
      const std::size_t n = std::min(kAtOnce, n_numbers_ - first);
      for (std::size_t k = 0; k < n; ++k) number[k] = value(first + k);
      kernels().to_units(number, 1, n, &centre_[first], &per_unit_[first], kFarAway, out + first);
    }
    for (std::size_t k = n_numbers_; k < column_.size(); ++k) out[k] = static_cast<float>(value(k));
  }
  return std::any_of(out, out + column_.size(), [](float unit) { return std::isnan(unit); });
}

void Units::of_kept(const double* values, float* out) const {
  of(values, 1, out);
  for (std::size_t k = 0; k < column_.size(); ++k)
    if (std::isnan(out[k])) out[k] = k < n_numbers_ ? 0.0F : -1.0F;
}

}  // namespace ferl
