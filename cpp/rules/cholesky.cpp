#include "rules/cholesky.h"

#include <algorithm>

#include "rules/kernels.h"

namespace ferl::rules {

Cholesky::Cholesky(const std::vector<double>& a, std::size_t n)
    : n_(n), n_padded_((n + kTriangle - 1) / kTriangle * kTriangle), upper_(n_padded_ * n_padded_, 0.0),
      lower_(n_padded_ * n_padded_, 0.0), diagonal_(n_padded_, 1.0) {
  const std::size_t m = n_padded_;
  for (std::size_t i = 0; i < n; ++i) std::copy_n(a.data() + i * n, n, upper_.data() + i * m);
  for (std::size_t i = n; i < m; ++i) upper_[i * m + i] = 1;
  kernels().factor(upper_.data(), m, diagonal_.data());
  for (std::size_t i = 0; i < m; ++i) {
    diagonal_[i] = upper_[i * m + i];
    for (std::size_t j = i + 1; j < m; ++j) lower_[j * m + i] = upper_[i * m + j];
  }
}

void Cholesky::solve(double* b, std::size_t width) const {
  const std::size_t padded_width = width == 1 ? 1 : (width + 3) / 4 * 4;
  AlignedVector<double> copy(n_padded_ * padded_width, 0.0);
  for (std::size_t i = 0; i < n_; ++i) std::copy_n(b + i * width, width, copy.data() + i * padded_width);
  if (width == 1)
    kernels().solve(upper_.data(), lower_.data(), diagonal_.data(), n_padded_, 0, copy.data());
  else
    kernels().solve_several(upper_.data(), lower_.data(), diagonal_.data(), n_padded_, padded_width, copy.data());
  for (std::size_t i = 0; i < n_; ++i) std::copy_n(copy.data() + i * padded_width, width, b + i * width);
}

std::vector<double> Cholesky::inverse() const {
  std::vector<double> out(n_ * n_);
  AlignedVector<double> one(n_padded_);
  for (std::size_t c = 0; c < n_; ++c) {
    std::fill(one.begin(), one.end(), 0.0);
    one[c] = 1;
    kernels().solve(upper_.data(), lower_.data(), diagonal_.data(), n_padded_, c, one.data());
    for (std::size_t i = 0; i < n_; ++i) out[i * n_ + c] = one[i];
  }
  return out;
}

std::vector<double> Cholesky::inverse_triangle() const {
  std::vector<double> out(n_ * n_, 0.0);
  for (std::size_t i = 0; i < n_; ++i) {
    double* row = out.data() + i * n_;
    row[i] = 1;
    for (std::size_t k = 0; k < i; ++k) {
      const double factor = lower_[i * n_padded_ + k];
      const double* other = out.data() + k * n_;
      for (std::size_t c = 0; c <= k; ++c) row[c] -= factor * other[c];
    }
    for (std::size_t c = 0; c <= i; ++c) row[c] /= diagonal_[i];
  }
  return out;
}

}  // namespace ferl::rules
