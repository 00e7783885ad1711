#include "novelty/exemplar_codes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ferl {

namespace {

constexpr std::size_t kMostGroups = 16;     // of eight codes of at most 255 steps: their sum has 15 bits
constexpr double kInReach = 0.99;           // share of the exemplars' values that a byte reaches
constexpr double kRoundingOfOne = 0x1p-23;  // of one addition in single precision, twice
constexpr std::size_t kPadding = 8;         // floats that are read at once

// The size that most values stay within; 0 where it tells no length of steps.
double reach_of(std::vector<float> sizes) {
  if (sizes.empty()) return 0;
  for (float& own : sizes) own = std::fabs(own);
  const auto reached = sizes.begin() + static_cast<std::ptrdiff_t>(kInReach * static_cast<double>(sizes.size() - 1));
  std::nth_element(sizes.begin(), reached, sizes.end());
  return *reached > 1e-6F && *reached < 1e6F ? static_cast<double>(*reached) : 0;
}

}  // namespace

ExemplarCodes::ExemplarCodes(const AlignedVector<float>& lanes, std::size_t n_numbers,
                             const std::vector<float>& mismatch)
    : n_numbers_(n_numbers), n_features_(mismatch.size()) {
  const std::size_t d = n_features_, n_vectors = d == 0 ? 0 : lanes.size() / (d * kFloatLanes);
  const std::size_t n = n_vectors * kFloatLanes;
  mismatch_.assign((d + kPadding - 1) / kPadding * kPadding, 0.0F);
  std::copy(mismatch.begin() + static_cast<std::ptrdiff_t>(n_numbers), mismatch.end(),
            mismatch_.begin() + static_cast<std::ptrdiff_t>(n_numbers));
  rounding_ = kRoundingOfOne * static_cast<double>(d + 4);

  std::vector<float> value(n * d), numbers;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < d; ++k) {
      value[i * d + k] = summand(k, lanes[(i / kFloatLanes * d + k) * kFloatLanes + i % kFloatLanes]);
      if (k < n_numbers) numbers.push_back(value[i * d + k]);
    }
  const double reach = reach_of(std::move(numbers));
  if (reach == 0) return;  // no codes: every exemplar is measured
  n_groups_ = std::min((d + kCodesInGroup - 1) / kCodesInGroup, kMostGroups);
  const std::size_t n_codes = n_groups_ * kCodesInGroup;
  n_layers_ = (d + n_codes - 1) / n_codes;
  per_step_ = kMostSteps / reach / std::sqrt(static_cast<double>(n_layers_));
  code_.assign(n * n_codes, kCodeOfZero);
  double most_wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double wrong = 0;
    for (std::size_t c = 0; c < n_codes; ++c) {
      // Sums that end at kMostSteps are no farther apart than others: the end makes no distance too large.
      double steps = 0;
      for (std::size_t k = c; k < d; k += n_codes)
        steps += std::clamp(value[i * d + k] * per_step_, -kFarthestSteps, kFarthestSteps);
      steps = std::clamp(steps, -kMostSteps, kMostSteps);
      const double own = std::round(steps);
      const std::size_t group = i / kFloatLanes * n_groups_ + c / kCodesInGroup;
      code_[group * kFloatLanes * kCodesInGroup + code_place(i % kFloatLanes) + c % kCodesInGroup] =
          static_cast<std::uint8_t>(own + kCodeOfZero);
      wrong += std::fabs(steps - own);
    }
    most_wrong = std::max(most_wrong, wrong);
  }
  // A row's sums are made in single precision.
  const auto layers = static_cast<double>(n_layers_);
  const double of_sums = static_cast<double>(n_codes) * (layers + layers * layers) * kFarthestSteps * kRoundingOfOne;
  slack_ = most_wrong + of_sums + 0.01;
}

std::size_t ExemplarCodes::n_read() const {
  const std::size_t n = std::max(n_features_, n_layers_ * n_groups_ * kCodesInGroup);
  return (n + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
}

double ExemplarCodes::encode(const float* units, std::uint64_t* code, std::uint64_t* known) const {
  if (n_groups_ == 0) return 0;
  const CodePlan plan{n_layers_, n_groups_, per_step_};
  const std::size_t n_codes = n_groups_ * kCodesInGroup;
  thread_local std::vector<float> summands;
  if (n_numbers_ < n_features_) {
    summands.assign(units, units + n_read());
    for (std::size_t k = n_numbers_; k < n_features_; ++k) summands[k] = summand(k, units[k]);
    units = summands.data();
  }
  const double slack = kernels().encode(units, plan, code);
  if (known) {
    auto *bytes = reinterpret_cast<std::uint8_t*>(code), *is_known = reinterpret_cast<std::uint8_t*>(known);
    std::fill_n(is_known, n_codes, static_cast<std::uint8_t>(0xff));
    for (std::size_t k = 0; k < n_features_; ++k)
      if (std::isnan(units[k])) is_known[k % n_codes] = 0;
    for (std::size_t c = 0; c < n_codes; ++c) bytes[c] &= is_known[c];
  }
  return slack;
}

// The category of an exemplar that lacks one is -1, unlike every other.
float ExemplarCodes::summand(std::size_t feature, float units) const {
  if (feature < n_numbers_ || std::isnan(units)) return units;
  return std::fmod(units, 2.0F) == 0 ? 0.0F : mismatch_[feature];
}

}  // namespace ferl
