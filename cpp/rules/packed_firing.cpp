#include "rules/packed_firing.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ferl::rules {

namespace {

constexpr std::size_t kBitNumbers = 2 * kBlock / kWidth / sizeof(float);  // floats that the bits of a block take

}  // namespace

PackedFiring::PackedFiring(const float* firing, std::size_t n) {
  const std::size_t n_blocks = (n + kBlock - 1) / kBlock;
  std::vector<std::uint8_t> bits(n_blocks * 2 * kBlock / kWidth, 0);  // [block]: bits between 0 and 1, bits of 1
  std::size_t n_between = 0;
  for (std::size_t block = 0; block < n_blocks; ++block) {
    std::uint8_t* own = bits.data() + block * 2 * kBlock / kWidth;
    const std::size_t first = block * kBlock;
    n_between += kernels().mark(firing + first, std::min(kBlock, n - first), own, own + kBlock / kWidth);
  }
  data_.resize(n_blocks * kBitNumbers + n_between + kWidth);
  std::size_t at = 0;
  for (std::size_t block = 0; block < n_blocks; ++block) {
    begin_.push_back(static_cast<std::uint32_t>(at));
    const std::uint8_t* own = bits.data() + block * 2 * kBlock / kWidth;
    std::memcpy(data_.data() + at, own, 2 * kBlock / kWidth);
    at += kBitNumbers;
    for (std::size_t group = 0; group < kBlock / kWidth; ++group)
      for (unsigned left = own[group]; left != 0; left &= left - 1)
        data_[at++] = firing[block * kBlock + group * kWidth + static_cast<std::size_t>(std::countr_zero(left))];
  }
  begin_.push_back(static_cast<std::uint32_t>(at));
}

}  // namespace ferl::rules
