// What the doors to trees and to weights of evidence share: checks and loops of certificates and nearest changes.
#pragma once

#include <algorithm>
#include <cmath>

#include "bind/array.h"
#include "proofs/nearest_flip.h"

namespace ferl::python {

inline void check_labels(const Matrix& x, const Codes& label, int n_classes, const OutVector& out) {
  require(label.shape(0) == x.shape(0) && out.shape(0) == x.shape(0), "label and out need one number per row of X.");
  require(std::all_of(label.data(), label.data() + label.size(), [=](int c) { return c >= 0 && c < n_classes; }),
          "Every label must be at least 0 and below n_classes.");
}

inline void check_flips(const Matrix& row, int label, int n_classes, const Codes& columns, const Vector& width,
                        const OutMatrix& at, const OutMatrix& proven) {
  require(row.shape(0) == 1, "row must have one row.");
  require(label >= 0 && label < n_classes, "label must be at least 0 and below n_classes.");
  const std::size_t n = columns.shape(0);
  const MatrixView x = view(row);
  require(std::all_of(
              columns.data(), columns.data() + n,
              [&](Column f) { return f >= 0 && static_cast<std::size_t>(f) < x.n_columns && std::isfinite(x(0, f)); }),
          "Every column must be one of the row's that holds a finite number.");
  require(width.shape(0) == n, "width needs one number per column.");
  for (const OutMatrix* out : {&at, &proven})
    require(out->shape(0) == n && out->shape(1) == 2, "at and proven must have shape (number of columns, 2).");
}

// Fills at and proven, one row for each column: below and above the row's value.
inline void search_flips(RowProof& proof, const MatrixView& x, Label label, const Codes& columns, const Vector& width,
                         OutMatrix& at, OutMatrix& proven) {
  FlipSearch search(proof, label);
  for (std::size_t k = 0; k < columns.shape(0); ++k) {
    const Column column = columns.data()[k];
    const auto flips = search.along(column, x(0, column), width.data()[k]);
    for (std::size_t side = 0; side < 2; ++side) {
      at.data()[2 * k + side] = flips[side].at;
      proven.data()[2 * k + side] = flips[side].proven;
    }
  }
}

}  // namespace ferl::python
