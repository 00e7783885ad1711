// Exponential and logarithm to about 1e-15, with the same bits on every machine; the C library's results may differ.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace ferl {

// Their sum is log 2.
inline constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;

inline constexpr double kExpFactor[] = {
    1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
    1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};

// Arguments beyond it, on either side, count as this: the result is always a normal number.
inline constexpr double kLargestExponent = 700.0;

inline double exponential(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding and subtracting it rounds to an integer
  x = std::min(kLargestExponent, std::max(-kLargestExponent, x));
  const double power = (x * 1.4426950408889634 + kRound) - kRound;
  const double r = (x - power * kLn2High) - power * kLn2Low;
  double series = kExpFactor[0];
  for (int k = 1; k < 14; ++k) series = series * r + kExpFactor[k];
  return series * std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(power) + 1023) << 52);
}

// A positive normal number as 2^exponent (1 + t) / (1 - t), with t around zero.
struct Reduced {
  double exponent, t;
};

inline Reduced reduced(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  double exponent = static_cast<double>(bits >> 52) - 1023.0;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (m > 1.4142135623730951) m *= 0.5, exponent += 1.0;
  return {exponent, (m - 1.0) / (m + 1.0)};
}

// The logarithm of (1 + t) / (1 - t), by its series up to the power kLast, an odd one.
template <int kLast>
double log_of_ratio(double t) {
  const double u = t * t;
  double series = 1.0 / kLast;
  for (int k = kLast - 2; k > 0; k -= 2) series = series * u + 1.0 / k;
  return 2.0 * t * series;
}

// For positive normal numbers.
inline double natural_log(double x) {
  const auto [exponent, t] = reduced(x);
  return exponent * kLn2High + (exponent * kLn2Low + log_of_ratio<23>(t));
}

// The same to about 1e-12, as logarithm() of a vector in kernels.inc, operation for operation.
inline double short_logarithm(double x) {
  const auto [exponent, t] = reduced(x);
  return exponent * 0.6931471805599453 + log_of_ratio<15>(t);
}

}  // namespace ferl
