// The number of training rows that an answer averages: the inverse of its leverage in the ridge regression of the rule
// weights. A row that few training rows resemble in the rules that apply to it has a high leverage.
#pragma once

#include <cstddef>
#include <vector>

#include "core/aligned.h"
#include "core/kernels.h"

namespace ferl {

class RowsBehind {
 public:
  // products: [1 + n_rules][1 + n_rules], sums over the training rows of weight times the products of two firings; the
  // first firing is constant one. ridge: [rule], on the weight of the standardised firing. curvature: of the loss of a
  // row by its scores. support: [cell], the training weight in each cell of curves and maps.
  RowsBehind(const std::vector<double>& products, const std::vector<double>& ridge, double curvature,
             const std::vector<double>& support);

  std::size_t n_rules() const { return mean_.size(); }
  std::size_t n_padded() const { return n_padded_; }
  // Standardised firings of a rule, `z`: as for count, from the rule on.
  void standardise(std::size_t n, std::size_t rule, const double* phi, double* z) const {
    kernels().standardise(n, phi, mean_[rule], per_deviation_[rule], n_padded_ * kLanes, z);
  }
  // What a cell adds to the leverage of a row: the leverage of one of its rows in their mean.
  double thinness(std::size_t cell) const { return thinness_[cell]; }
  std::size_t n_cells() const { return thinness_.size(); }
  // The parts that other implementations of the same count need: mean and inverse deviation of each firing, the
  // triangle as a matrix [n_rules][n_rules], and the leverage of the mean row.
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& per_deviation() const { return per_deviation_; }
  std::vector<double> triangle() const;
  double least() const { return least_; }
  // z: [vector of rows][n_padded rules][lane], standardised firings, zero from n_rules on; thinnest: [row], the largest
  // thinness. out: [row], up to the end of the last vector.
  void count(std::size_t n, const double* z, const double* thinnest, double* out) const;

 private:
  // Calls visit(place in triangle_, row, column) for each entry of the triangle.
  template <class Visit>
  void over_triangle(const Visit& visit) const;

  std::size_t n_padded_;
  std::vector<double> mean_, per_deviation_, thinness_;
  AlignedVector<double> triangle_;  // [rows of the triangle, kTriangleRows of them][column][row]
  double least_;                    // the leverage of the mean row
};

}  // namespace ferl
