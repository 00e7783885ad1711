// How many of some ascending numbers are below a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ferl {

// Counts for several values at once; is_below(number, value). The side is practically random, so a mask is used: GCC
// would make a branch of anything else. No value waits for the comparisons of another.
template <std::size_t kValues, class IsBelow>
inline void count_below(const double* sorted, std::size_t n, const double* value, const IsBelow& is_below,
                        std::uint32_t* out) {
  const double* from[kValues];
  std::fill_n(from, kValues, sorted);
  for (; n > 1; n -= n / 2)
    for (std::size_t k = 0; k < kValues; ++k)
      from[k] += -static_cast<std::size_t>(is_below(from[k][n / 2 - 1], value[k])) & n / 2;
  for (std::size_t k = 0; k < kValues; ++k)
    out[k] = static_cast<std::uint32_t>(from[k] - sorted) + (n == 1 && is_below(*from[k], value[k]) ? 1 : 0);
}

// The same of any number of values; for NaN anything.
template <class IsBelow>
inline void count_below(const double* sorted, std::size_t n, const double* value, std::size_t n_values,
                        const IsBelow& is_below, std::uint32_t* out) {
  constexpr std::size_t kAtOnce = 4;
  std::size_t i = 0;
  for (; i + kAtOnce <= n_values; i += kAtOnce) count_below<kAtOnce>(sorted, n, value + i, is_below, out + i);
  for (; i < n_values; ++i) count_below<1>(sorted, n, value + i, is_below, out + i);
}

}  // namespace ferl
