// One binary that uses the widest vectors of the machine it runs on, with the same results on all of them: the
// arithmetic is element-wise, and only the number of registers it takes differs.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "core/compiler.h"

namespace ferl {

inline constexpr int kLanes = 8;  // resamples swept at once, one in each lane of a vector

// Twice as many of half the size, for searches that need not be exact.
inline constexpr int kFloatLanes = 16;

struct alignas(kLanes * sizeof(double)) LaneCell {
  double v[kLanes] = {};
};

// An array that begins with a line of the cache: a vector that lies across two lines takes twice as long to load.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* array, std::size_t) { ::operator delete(array, kLine); }
  bool operator==(const LineAllocator&) const = default;
};
template <class T>
using LineArray = std::vector<T, LineAllocator<T>>;

}  // namespace ferl
