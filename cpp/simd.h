// One binary that uses the widest vectors of the machine it runs on, with the same results on all of them: the
// arithmetic is element-wise, and only the number of registers it takes differs.
#pragma once

#include <cstdint>

namespace ferl {

inline constexpr int kLanes = 8;  // resamples swept at once, one in each lane of a vector

using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));
using Mask = std::int64_t __attribute__((vector_size(kLanes * sizeof(double))));  // all bits set where a test holds
using Bytes = std::uint8_t __attribute__((vector_size(kLanes)));

// What containers hold: the alignment of a bare vector type is lost on its way through a template argument.
struct alignas(sizeof(Lanes)) LaneCell {
  Lanes v = {};
};

}  // namespace ferl

// FERL_CLONES: for plain loops that the compiler makes vectors of. FERL_MULTIVERSION: for code in explicit vectors,
// which GCC lowers before it clones, so that its clones would keep the baseline's short vectors. Both need GCC on
// x86-64 with glibc (ifunc); elsewhere the baseline instruction set is used.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FERL_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define FERL_MULTIVERSION 1
#else
#define FERL_CLONES
#define FERL_MULTIVERSION 0
#endif
