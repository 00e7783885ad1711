#include "trees/bootstrap.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rows/hash.h"

namespace ferl {

namespace {

// Above this weight a row is drawn as kCap occurrences of weight w / kCap, so that counts fit a byte: Poisson(100)
// exceeds 255 with probability 1e-37. Its draws then vary by 10 %, more than they should, which widens bands at most.
constexpr double kCap = 100;

// The smallest k with P(Poisson(mean) <= k) > u.
int poisson_quantile(double mean, double u) {
  double probability = std::exp(-mean), cumulative = probability;
  int k = 0;
  while (u >= cumulative && k < 255) {
    probability *= mean / ++k;
    cumulative += probability;
  }
  return k;
}

// Nearly all rows weigh one: 32 random bits compared with the cumulative probabilities of Poisson(1).
class UnitPoisson {
 public:
  UnitPoisson() {
    double probability = std::exp(-1.0), cumulative = probability;
    for (std::size_t k = 0; k < bounds_.size(); ++k) {
      bounds_[k] = static_cast<std::uint32_t>(std::min(cumulative * 4294967296.0, 4294967295.0));
      probability /= static_cast<double>(k + 1);
      cumulative += probability;
    }
  }
  std::uint8_t operator()(std::uint32_t bits) const {
    unsigned count = 0;
    for (const auto bound : bounds_) count += bits >= bound;
    return static_cast<std::uint8_t>(count);
  }

 private:
  std::array<std::uint32_t, 12> bounds_;
};

}  // namespace

Resamples::Resamples(const Sample& sample, int n_resamples, ThreadPool& pool)
    : n_rows_(sample.n_rows), n_resamples_(n_resamples), n_groups_((n_resamples + kLanes - 1) / kLanes) {
  counts_.resize(static_cast<std::size_t>(n_groups_) * n_rows_ * kLanes);
  occurrence_.resize(n_rows_);
  const UnitPoisson unit_poisson;
  auto draw = [&](std::size_t i) {
    const double weight = sample.weight[i];
    occurrence_[i] = 1.0 / std::min(weight, kCap);
    for (int b = 0; b < n_resamples_; b += 2) {
      const std::uint64_t bits = mix(sample.key[i] + static_cast<std::uint64_t>(b));
      for (int k = 0; k < 2 && b + k < n_resamples_; ++k) {
        const auto half = static_cast<std::uint32_t>(bits >> (32 * k));
        const int count =
            weight == 1.0 ? unit_poisson(half) : poisson_quantile(std::min(weight, kCap), half / 4294967296.0);
        const int lane = b + k;
        counts_[(static_cast<std::size_t>(lane / kLanes) * n_rows_ + i) * kLanes + lane % kLanes] =
            static_cast<std::uint8_t>(count);
      }
    }
  };
  constexpr std::size_t kPieceRows = 4096;
  pool.run((n_rows_ + kPieceRows - 1) / kPieceRows, true, [&](std::size_t piece) {
    for (std::size_t i = piece * kPieceRows; i < std::min((piece + 1) * kPieceRows, n_rows_); ++i) draw(i);
  });
}

}  // namespace ferl
