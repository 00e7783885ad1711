// The training rows in an order of their own.
//
// Bootstrap draws and the growth sample are keyed by a row's content, not by its place in the table, and equal rows
// are merged into one that carries their weight. So a fit does not depend on the order of the rows, and weight 2 is
// the same as the row twice, to the last bit. Sorting by the keyed hash is a random order: its head is a fair sample.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.h"
#include "types.h"

namespace ferl {

std::uint64_t mix(std::uint64_t bits);  // a bijection that scatters its argument over all 64 bits

struct CanonicalRows {
  std::vector<Row> row;             // one of the equal rows of the table, by ascending key
  std::vector<std::uint64_t> key;   // hash of seed, values and class
  std::vector<double> weight;       // summed over the equal rows and scaled
};

// Rows of weight zero are left out. Weights that average less than one per distinct row (they may sum to one, say)
// are scaled to average one: leaf weights and shrinkage are counted in rows.
CanonicalRows canonical_rows(const TableView& table, std::uint64_t seed, Monitor& monitor);

// Rows copied into their canonical order, each column contiguous: what growth works on.
struct Sample {
  std::size_t n_rows = 0, n_columns = 0;
  int n_classes = 0;
  std::vector<double> x;  // column-major
  std::vector<std::int32_t> n_categories;
  std::vector<Label> y;
  std::vector<double> weight;
  std::vector<std::uint64_t> key;

  const double* column(std::size_t j) const { return x.data() + j * n_rows; }
  TableView table() const;
};

// Canonical rows [from, to).
Sample take_rows(const TableView& table, const CanonicalRows& canonical, std::size_t from, std::size_t to);

}  // namespace ferl
