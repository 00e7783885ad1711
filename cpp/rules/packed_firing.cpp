#include "rules/packed_firing.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ferl::rules {

namespace {

constexpr std::uint32_t kZeroBits = std::bit_cast<std::uint32_t>(0.0f), kOneBits = std::bit_cast<std::uint32_t>(1.0f);
constexpr std::size_t kBitNumbers = 2 * kBlock / kWidth / sizeof(float);  // as many floats as the bits of a block take

bool is_between(float firing) {
  const auto bits = std::bit_cast<std::uint32_t>(firing);
  return bits != kZeroBits && bits != kOneBits;
}

}  // namespace

PackedFiring::PackedFiring(const float* firing, std::size_t n) {
  const std::size_t n_blocks = (n + kBlock - 1) / kBlock;
  data_.resize(n_blocks * kBitNumbers + static_cast<std::size_t>(std::count_if(firing, firing + n, is_between)) +
               kWidth);
  std::size_t at = 0;
  for (std::size_t first = 0; first < n; first += kBlock) {
    begin_.push_back(static_cast<std::uint32_t>(at));
    std::uint8_t bits[2][kBlock / kWidth] = {};
    float* value = data_.data() + at + kBitNumbers;
    for (std::size_t i = 0; i < std::min(kBlock, n - first); ++i) {
      const float own = firing[first + i];
      const bool between = is_between(own), one = std::bit_cast<std::uint32_t>(own) == kOneBits;
      bits[0][i / kWidth] |= static_cast<std::uint8_t>(between << i % kWidth);
      bits[1][i / kWidth] |= static_cast<std::uint8_t>(one << i % kWidth);
      *value = own;  // the next one takes its place unless it counts; there is room behind the last
      value += between;
    }
    std::memcpy(data_.data() + at, bits, sizeof bits);
    at = static_cast<std::size_t>(value - data_.data());
  }
  begin_.push_back(static_cast<std::uint32_t>(at));
}

}  // namespace ferl::rules
