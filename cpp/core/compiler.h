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

// On x86-64 the kernels are compiled once for each instruction set, by pragmas that set the target of what follows. (GCC's
// own target_clones would not do: it lowers explicit vectors before it clones, so that every clone keeps the baseline's
// short ones.) clang-cl has no function that names the machine's features, and takes the baseline.
#if defined(__x86_64__) && !defined(_MSC_VER)
#define FERL_MULTIVERSION 1
#else
#define FERL_MULTIVERSION 0
#endif

// FERL_TARGET_V3 and FERL_TARGET_V4 begin functions for x86-64-v3 and v4, FERL_TARGET_END ends them. clang's pragma names
// features, not levels.
#if FERL_MULTIVERSION && defined(__clang__)
#define FERL_V3_FEATURES "avx,avx2,bmi,bmi2,cx16,f16c,fma,lzcnt,movbe,popcnt,sahf,sse3,sse4.1,sse4.2,ssse3,xsave"
#define FERL_PRAGMA(text) _Pragma(#text)
#define FERL_TARGET(features) FERL_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define FERL_TARGET_V3 FERL_TARGET(FERL_V3_FEATURES)
#define FERL_TARGET_V4 FERL_TARGET(FERL_V3_FEATURES ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl")
#define FERL_TARGET_END _Pragma("clang attribute pop")
#elif FERL_MULTIVERSION
#define FERL_TARGET_V3 _Pragma("GCC push_options") _Pragma("GCC target(\"arch=x86-64-v3\")")
#define FERL_TARGET_V4 _Pragma("GCC push_options") _Pragma("GCC target(\"arch=x86-64-v4\")")
#define FERL_TARGET_END _Pragma("GCC pop_options")
#endif
