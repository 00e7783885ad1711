// Eight resamples are swept at once in one vector of doubles. The element-wise arithmetic is the same on every CPU;
// only the number of registers it takes differs, so results do not depend on the vector width.
#pragma once

#include <cstdint>

namespace ferl {

inline constexpr int kLanes = 8;

using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));
using Bytes = std::uint8_t __attribute__((vector_size(kLanes)));

inline constexpr Lanes kZeroLanes = {};

// What containers hold: the alignment of a bare vector type is lost on its way through a template argument.
struct alignas(sizeof(Lanes)) LaneCell {
  Lanes v = kZeroLanes;
};

}  // namespace ferl

// One binary, the widest registers of the machine it runs on. Needs ifunc, so glibc on x86-64; elsewhere the
// baseline instruction set is used.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FERL_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define FERL_CLONES
#endif
