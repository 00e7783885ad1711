// One binary that uses the widest vectors of the machine it runs on, with the same results on all of them: the
// arithmetic is element-wise, and only the number of registers it takes differs.
#pragma once

#include "core/compiler.h"

namespace ferl {

inline constexpr int kLanes = 8;  // resamples swept at once, one in each lane of a vector

// Twice the number of lanes of half the size, for searches that need not be exact.
inline constexpr int kFloatLanes = 16;

struct alignas(kLanes * sizeof(double)) LaneCell {
  double v[kLanes] = {};
};

}  // namespace ferl
