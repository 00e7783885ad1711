// The few types every file of the core shares, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ferl {

using Row = std::uint32_t;    // sorted orders hold one per row and feature: half the memory of size_t, 4e9 rows suffice
using Label = std::int32_t;   // class code 0..C-1, as numpy.unique gives them, narrowed
using Column = std::int32_t;  // feature number; -1 at the root, which has no condition
using NodeId = std::int32_t;  // node number; -1: the root has no parent, a leaf no child

// A bound of the keys of rows (see rows/hash.h) that lets every key through.
inline constexpr std::uint64_t kAnyKey = std::numeric_limits<std::uint64_t>::max();

// A matrix of doubles owned by somebody else, in either memory order.
struct MatrixView {
  const double* data;
  std::size_t n_rows, n_columns;
  std::ptrdiff_t row_stride, column_stride;  // in elements, as NumPy's strides divided by 8

  const double* row(std::size_t number) const { return data + static_cast<std::ptrdiff_t>(number) * row_stride; }
  double operator()(std::size_t number, std::size_t column) const {
    return row(number)[static_cast<std::ptrdiff_t>(column) * column_stride];
  }
};

// A missing value is NaN. A category is its code, 0 .. n_categories - 1; a larger one was not seen in training.
inline bool is_missing(double value) { return value != value; }

// Training rows with their classes and weights, owned by somebody else.
struct TableView {
  MatrixView x;
  const std::int32_t* n_categories;  // [column]; 0: a number
  const Label* y;
  const double* weight;
  int n_classes;
};

// Firings at or below this share of a row's weight are dropped while growing and when ranges are taken: a row that
// reaches a node so weakly says nothing about it, and the lists stay short.
inline constexpr double kNegligibleFiring = 1e-6;

}  // namespace ferl
