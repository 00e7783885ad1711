// Keys of rows: what is drawn of a table depends on the content of its rows, not on their places.
#pragma once

#include <cstdint>
#include <vector>

#include "types.h"

namespace ferl {

std::uint64_t mix(std::uint64_t bits);  // a bijection that scatters its argument over all 64 bits

// Equal values must have equal bits: -0.0 becomes 0.0, and one NaN stands for all.
double canonical_value(double value);
std::uint64_t value_bits(double value);

// Hash of seed, class and the values of some columns, for each row of a table. Sorting by it is a random order.
class RowHash {
 public:
  RowHash(std::uint64_t seed, std::vector<Column> columns) : seed_(mix(seed)), columns_(std::move(columns)) {}

  // Of rows [first, first + n) into `keys`.
  void operator()(const TableView& table, std::size_t first, std::size_t n, std::uint64_t* keys) const;

 private:
  std::uint64_t seed_;
  // Columns without any value tell nothing apart, and must not change what is drawn: they are left out.
  std::vector<Column> columns_;
};

}  // namespace ferl
