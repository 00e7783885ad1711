#include "rules/rows_behind.h"

#include <algorithm>
#include <cmath>

#include "core/kernels.h"
#include "rules/cholesky.h"

namespace ferl {

namespace {

constexpr double kLeastRidge = 1e-3;      // of the prior, and of rules that a refit did not hold back
constexpr double kLeastVariance = 1e-12;  // rules that vary less are constant: firings are rounded to 2^-10

std::size_t padded(std::size_t n) { return (n + kTriangleRows - 1) / kTriangleRows * kTriangleRows; }

}  // namespace

template <class Visit>
void RowsBehind::over_triangle(const Visit& visit) const {
  std::size_t at = 0;
  for (std::size_t first = 0; first < n_padded_; first += kTriangleRows)
    for (std::size_t k = 0; k < first + kTriangleRows; ++k)
      for (std::size_t j = first; j < first + kTriangleRows; ++j, ++at)
        if (j < n_rules() && k <= j) visit(at, j, k);
}

RowsBehind::RowsBehind(const std::vector<double>& products, const std::vector<double>& ridge, double curvature,
                       const std::vector<double>& support)
    : n_padded_(padded(ridge.size())) {
  const std::size_t n = ridge.size(), width = n + 1;
  const double weight = products[0], prior = kLeastRidge / curvature;
  least_ = 1 / (weight + prior);
  const auto product = [&](std::size_t j, std::size_t k) { return products[(j + 1) * width + k + 1]; };
  for (std::size_t j = 0; j < n; ++j) {
    const double mean = weight > 0 ? products[j + 1] / weight : 0;
    const double variance = weight > 0 ? product(j, j) / weight - mean * mean : 0;
    mean_.push_back(mean);
    per_deviation_.push_back(variance > kLeastVariance ? 1 / std::sqrt(variance) : 0);
  }
  std::vector<double> g(n * n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t k = 0; k < n; ++k) {
      const double centred = product(j, k) - weight * mean_[j] * mean_[k];
      g[j * n + k] = centred * per_deviation_[j] * per_deviation_[k];
    }
  for (std::size_t j = 0; j < n; ++j) g[j * n + j] += std::max(ridge[j], kLeastRidge) / curvature;
  // The leverage of z is the squared length of the triangle's inverse times z.
  const std::vector<double> inverse = rules::Cholesky(g, n).inverse_triangle();
  triangle_.assign(n_padded_ * (n_padded_ + kTriangleRows) / 2, 0.0);
  over_triangle([&](std::size_t at, std::size_t j, std::size_t k) { triangle_[at] = inverse[j * n + k]; });
  for (const double own : support) thinness_.push_back(1 / (1 + own));
}

std::vector<double> RowsBehind::triangle() const {
  std::vector<double> out(n_rules() * n_rules(), 0.0);
  over_triangle([&](std::size_t at, std::size_t j, std::size_t k) { out[j * n_rules() + k] = triangle_[at]; });
  return out;
}

void RowsBehind::count(std::size_t n, const double* z, const double* thinnest, double* out) const {
  for (std::size_t i = 0; i < n; ++i) out[i] = least_ + thinnest[i];
  kernels().add_squares(n, n_padded_, triangle_.data(), z, out);
  for (std::size_t i = 0; i < n; ++i) out[i] = 1 / out[i];
}

}  // namespace ferl
