#include "novelty/exemplar_codes.h"

#include <algorithm>
#include <cmath>

namespace ferl {

namespace {

constexpr std::size_t kMostCoded = 256;     // of at most 255 steps each: their sum has 16 bits
constexpr double kInReach = 0.99;           // share of the exemplars' values that a byte reaches
constexpr double kRoundingOfOne = 0x1p-23;  // of one addition in single precision, twice

// The length of a step, one over it; 0 where the exemplars' values tell none.
double steps_per_unit(const AlignedVector<float>& lanes, std::size_t n_numbers, std::size_t n_features) {
  std::vector<float> sizes;
  sizes.reserve(lanes.size());
  for (std::size_t at = 0; at < lanes.size(); at += n_features * kFloatLanes)
    for (std::size_t k = 0; k < n_numbers * kFloatLanes; ++k) sizes.push_back(std::fabs(lanes[at + k]));
  if (sizes.empty()) return 0;
  const auto reached = sizes.begin() + static_cast<std::ptrdiff_t>(kInReach * static_cast<double>(sizes.size() - 1));
  std::nth_element(sizes.begin(), reached, sizes.end());
  return *reached > 1e-6F && *reached < 1e6F ? kMostSteps / static_cast<double>(*reached) : 0;
}

}  // namespace

ExemplarCodes::ExemplarCodes(const AlignedVector<float>& lanes, std::size_t n_numbers,
                             const std::vector<float>& mismatch) {
  const std::size_t d = mismatch.size(), n_vectors = d == 0 ? 0 : lanes.size() / (d * kFloatLanes);
  per_step_ = steps_per_unit(lanes, n_numbers, d);
  rounding_ = kRoundingOfOne * static_cast<double>(d + 4);
  slack_.assign(n_vectors * kFloatLanes, 0);
  if (per_step_ == 0) return;  // no codes: every exemplar is measured
  n_coded_ = std::min(d, kMostCoded), n_numbers_ = std::min(n_numbers, n_coded_);
  n_groups_ = (n_coded_ + kCodesInGroup - 1) / kCodesInGroup;
  for (std::size_t k = 0; k < n_coded_; ++k)
    mismatch_.push_back(static_cast<std::uint8_t>(std::clamp(mismatch[k] * per_step_, 0.0, 255.0)));
  code_.assign(n_vectors * n_groups_ * kFloatLanes * kCodesInGroup, kCodeOfZero);
  for (std::size_t v = 0; v < n_vectors; ++v)
    for (std::size_t lane = 0; lane < kFloatLanes; ++lane) {
      double wrong = 0;
      for (std::size_t k = 0; k < n_coded_; ++k) {
        const float units = lanes[(v * d + k) * kFloatLanes + lane];
        const std::size_t group = v * n_groups_ + k / kCodesInGroup;
        std::uint8_t& code = code_[group * kFloatLanes * kCodesInGroup + code_place(lane) + k % kCodesInGroup];
        if (k < n_numbers_) {
          const double steps = units * per_step_, own = std::round(std::clamp(steps, -kMostSteps, kMostSteps));
          code = static_cast<std::uint8_t>(own + kCodeOfZero);
          wrong += std::fabs(steps - own);
        } else {
          code = category_code(k, units);
        }
      }
      slack_[v * kFloatLanes + lane] = static_cast<std::uint16_t>(std::min(std::ceil(wrong), 65535.0));
    }
}

double ExemplarCodes::encode(const float* units, std::uint64_t* code, std::uint64_t* known) const {
  if (n_groups_ == 0) return 0;
  const double slack = kernels().encode(units, n_numbers_, per_step_, n_groups_, code);
  auto* bytes = reinterpret_cast<std::uint8_t*>(code);
  for (std::size_t k = n_numbers_; k < n_coded_; ++k) bytes[k] = category_code(k, units[k]);
  if (known) {
    auto* is_known = reinterpret_cast<std::uint8_t*>(known);
    for (std::size_t k = 0; k < n_groups_ * kCodesInGroup; ++k) {
      const bool is_missing_here = k < n_coded_ && std::isnan(units[k]);
      is_known[k] = is_missing_here ? 0 : 0xff;
      bytes[k] = is_missing_here ? 0 : bytes[k];
    }
  }
  return slack;
}

// The category of an exemplar that lacks one is -1, unlike every other.
std::uint8_t ExemplarCodes::category_code(std::size_t k, float category) const {
  return std::fmod(category, 2.0F) == 0 ? 0 : mismatch_[k];
}

}  // namespace ferl
