// The firings of a rule on many rows in less memory, bit by bit the same: most firings are 0 or 1, and one bit stores
// each of these. On 200,000 rows 150 rules took four times the memory of 20 columns; packed they take the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rules/kernels.h"

namespace ferl::rules {

class PackedFiring {
 public:
  PackedFiring() = default;  // of no rows
  // n: a multiple of kWidth.
  PackedFiring(const float* firing, std::size_t n);

  // The firings of n rows, a multiple of kWidth; `first` is a multiple of kBlock, n at most kBlock.
  void unpack(std::size_t first, std::size_t n, float* out) const {
    const float *own = data_.data() + begin_[first / kBlock], *next = data_.data() + begin_[first / kBlock + 1];
    // The data of the next rows follow, and are fetched while all rules are unpacked. They may lie beyond the end.
    for (std::size_t at = 0; own + at < next; at += 64 / sizeof(float)) __builtin_prefetch(next + at);
    const auto* bits = reinterpret_cast<const std::uint8_t*>(own);
    kernels().unpack(bits, bits + kBlock / kWidth, own + 2 * kBlock / kWidth / sizeof(float), n, out);
  }

 private:
  std::vector<std::uint32_t> begin_;  // [kBlock rows], and where the last ones end
  // For each kBlock rows: bits of the firings between 0 and 1, bits of the firings of 1, then the values between 0 and
  // 1. At the end kWidth more numbers, since whole vectors are loaded.
  std::vector<float> data_;
};

}  // namespace ferl::rules
