// The triangle of a positive definite matrix, and solutions with it. Each element subtracts its terms in the order of
// the textbook's loops; elements that do not wait for each other are computed together.
#pragma once

#include <cstddef>
#include <vector>

#include "core/aligned.h"

namespace ferl::rules {

class Cholesky {
 public:
  // Factors a symmetric matrix, [n][n].
  Cholesky(const std::vector<double>& a, std::size_t n);

  // Solves for `width` right sides and overwrites them: [n][width].
  void solve(double* b, std::size_t width) const;
  std::vector<double> inverse() const;           // [n][n]
  std::vector<double> inverse_triangle() const;  // [n][n]: of the lower triangle, zero above the diagonal

 private:
  std::size_t n_, n_padded_;             // rows added have a one on the diagonal
  AlignedVector<double> upper_, lower_;  // [row][column]: the triangle's transpose and, without diagonal, itself
  std::vector<double> diagonal_;
};

}  // namespace ferl::rules
