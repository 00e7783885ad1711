// The natural logarithm of positive normal numbers, to about 1e-12, with the same bits on every machine: that of the C
// library may differ between them.
#pragma once

#include <bit>
#include <cstdint>

namespace ferl {

// As logarithm() of a vector in kernels.inc, operation for operation.
inline double logarithm(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  double exponent = static_cast<double>(bits >> 52) - 1023.0;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (m > 1.4142135623730951) m *= 0.5, exponent += 1.0;
  const double t = (m - 1.0) / (m + 1.0), u = t * t;
  double series = 1.0 / 15;
  for (int k = 13; k > 0; k -= 2) series = series * u + 1.0 / k;
  return exponent * 0.6931471805599453 + 2.0 * t * series;
}

}  // namespace ferl
