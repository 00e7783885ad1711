// What the core takes from its compiler beyond C++20, in one place: vector types, 128-bit integers and checked sums, all
// of them extensions of GCC and clang.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#if !defined(__GNUC__) && !defined(__clang__)
#error "ferl needs GCC 11, clang 14 or newer; on Windows clang-cl, the compiler of Visual Studio's ClangCL toolset."
#endif

namespace ferl {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

inline bool add_overflows(Int128 a, Int128 b, Int128* sum) { return __builtin_add_overflow(a, b, sum); }

// The nearest double, ties to even, as a conversion gives. clang-cl would take the conversion from a library that
// Windows programs are not linked with.
inline double to_double(Int128 value) {
  UInt128 rest = value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  int exponent = 0;
  if (const auto high = static_cast<std::uint64_t>(rest >> 64); high != 0) {
    exponent = 64 - std::countl_zero(high);
    const bool lost = (rest & ((UInt128{1} << exponent) - 1)) != 0;
    rest >>= exponent;
    if (lost) rest |= 1;  // below the last digit of a double: it decides ties only
  }
  const double size = std::ldexp(static_cast<double>(static_cast<std::uint64_t>(rest)), exponent);
  return value < 0 ? -size : size;
}

}  // namespace ferl

// GCC's own target_clones would not do: it lowers explicit vectors before it clones, so that every clone keeps the
// baseline's short ones. Elsewhere than GCC on x86-64 the baseline is used.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FERL_MULTIVERSION 1
#else
#define FERL_MULTIVERSION 0
#endif
