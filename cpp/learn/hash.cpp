#include "learn/hash.h"

#include <algorithm>

namespace ferl {

void RowHash::operator()(const TableView& table, std::size_t first, std::size_t n, std::uint64_t* keys) const {
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
