// The rows that a tree is grown on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.h"

namespace ferl {

// Distinct rows by ascending key, each column contiguous.
struct Sample {
  std::size_t n_rows = 0, n_columns = 0;
  int n_classes = 0;
  std::vector<double> x;  // column-major
  std::vector<std::int32_t> n_categories;
  std::vector<Label> y;
  std::vector<double> weight;        // summed over the equal rows
  std::vector<std::uint64_t> key;    // hash of seed, class and values
  std::vector<std::uint64_t> place;  // of the first of the equal rows among all rows seen
  std::vector<double> group = {};    // rows of one group are validated together; empty: every row by itself

  const double* column(std::size_t j) const { return x.data() + j * n_rows; }
};

}  // namespace ferl
