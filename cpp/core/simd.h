// One binary that uses the widest vectors of the machine it runs on, with the same results on all of them: the
// arithmetic is element-wise, and only the number of registers it takes differs.
#pragma once

#include <cstdint>

#include "core/compiler.h"

namespace ferl {

inline constexpr int kLanes = 8;  // resamples swept at once, one in each lane of a vector

using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));
using Mask = std::int64_t __attribute__((vector_size(kLanes * sizeof(double))));  // all bits set where a test holds
// Twice as many of half the size, for searches that need not be exact.
inline constexpr int kFloatLanes = 16;
using FloatLanes = float __attribute__((vector_size(kFloatLanes * sizeof(float))));
using FloatMask = std::int32_t __attribute__((vector_size(kFloatLanes * sizeof(float))));
using Bytes = std::uint8_t __attribute__((vector_size(kLanes)));

// What containers hold: the alignment of a bare vector type is lost on its way through a template argument.
struct alignas(sizeof(Lanes)) LaneCell {
  Lanes v = {};
};

}  // namespace ferl
