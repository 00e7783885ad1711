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
    centre_.push_back(scale_.centre[j]), per_unit_.push_back(scale_.per_unit[j]);
  }
  for (std::size_t j = 0; j < n_columns(); ++j) is_category_.push_back(is_number(j) ? 0 : 1);
}

bool Units::of(const double* values, std::ptrdiff_t stride, float* out) const {
  const auto to_units = kernels().to_units;
  if (n_numbers_ == column_.size())
    return to_units(values, stride, n_numbers_, centre_.data(), per_unit_.data(), kFarAway, out);
  constexpr std::size_t kAtOnce = 32;
  double number[kAtOnce];
  bool has_missing = false;
  for (std::size_t first = 0; first < n_numbers_; first += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, n_numbers_ - first);
    for (std::size_t k = 0; k < n; ++k) number[k] = values[static_cast<std::ptrdiff_t>(column_[first + k]) * stride];
    has_missing |= to_units(number, 1, n, centre_.data() + first, per_unit_.data() + first, kFarAway, out + first);
  }
  for (std::size_t k = n_numbers_; k < column_.size(); ++k) {
    out[k] = static_cast<float>(values[static_cast<std::ptrdiff_t>(column_[k]) * stride]);
    has_missing |= std::isnan(out[k]);
  }
  return has_missing;
}

void Units::of_kept(const double* values, float* out) const {
  of(values, 1, out);
  for (std::size_t k = 0; k < column_.size(); ++k)
    if (std::isnan(out[k])) out[k] = k < n_numbers_ ? 0.0F : -1.0F;
}

}  // namespace ferl
