// Keys of rows: what is drawn of a table depends on the content of its rows, not on their places.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ramp.h"
#include "core/types.h"

namespace ferl {

// A bijection that scatters its argument over all 64 bits: the finaliser of SplitMix64 (Steele, Lea & Flood 2014).
inline std::uint64_t mix(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

// Equal values must have equal bits: -0.0 becomes 0.0, and one NaN stands for all.
inline double canonical_value(double value) { return is_missing(value) ? kNaN : value + 0.0; }
inline std::uint64_t value_bits(double value) { return std::bit_cast<std::uint64_t>(canonical_value(value)); }

// Hash of seed, class and the values of some columns, for each row of a table. Sorting by it is a random order.
class RowHash {
 public:
  RowHash(std::uint64_t seed, std::vector<Column> columns) : seed_(mix(seed)), columns_(std::move(columns)) {}

  // Writes the keys of rows [first, first + n) to `keys`.
  void operator()(const TableView& table, std::size_t first, std::size_t n, std::uint64_t* keys) const;

 private:
  std::uint64_t seed_;
  // Columns without any value tell nothing apart, and must not change what is drawn: they are left out.
  std::vector<Column> columns_;
};

inline void RowHash::operator()(const TableView& table, std::size_t first, std::size_t n, std::uint64_t* keys) const {
  constexpr std::size_t kBlock = 64;  // interleaved chains hide the latency of the hash
  for (std::size_t from = 0; from < n; from += kBlock) {
    const std::size_t size = std::min(kBlock, n - from);
    std::uint64_t* hash = keys + from;
    for (std::size_t i = 0; i < size; ++i)
      hash[i] = mix(seed_ ^ mix(static_cast<std::uint64_t>(table.y[first + from + i])));
    for (const Column j : columns_)
      for (std::size_t i = 0; i < size; ++i) hash[i] = mix(hash[i] ^ value_bits(table.x(first + from + i, j)));
  }
}

}  // namespace ferl
