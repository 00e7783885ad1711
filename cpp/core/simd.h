// One binary that uses the widest vectors of the machine it runs on, with the same results on all of them: the
// arithmetic is element-wise, and only the number of registers it takes differs.
#pragma once

namespace ferl {

inline constexpr int kLanes = 8;  // resamples swept at once, one in each lane of a vector

// Twice as many of half the size, for searches that need not be exact.
inline constexpr int kFloatLanes = 16;

struct alignas(kLanes * sizeof(double)) LaneCell {
  double v[kLanes] = {};
};

}  // namespace ferl

// GCC's own target_clones would not do: it lowers explicit vectors before it clones, so that every clone keeps the
// baseline's short ones. Elsewhere than GCC on x86-64 the baseline is used.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FERL_MULTIVERSION 1
#else
#define FERL_MULTIVERSION 0
#endif
