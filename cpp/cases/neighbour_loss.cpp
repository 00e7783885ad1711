#include "cases/neighbour_loss.h"

#include <algorithm>
#include <vector>

#include "core/exponential.h"

namespace ferl {

namespace {

constexpr std::size_t kLanes = 8;    // sums that compilers turn into vectors
constexpr std::size_t kPairs = 512;  // pairs at a time: they stay in the cache for both passes

double dot(const double* a, const double* b, std::size_t n) {
  double lane[kLanes] = {}, sum = 0;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lane[l] += a[i + l] * b[i + l];
  for (; i < n; ++i) sum += a[i] * b[i];
  for (const double own : lane) sum += own;
  return sum;
}

}  // namespace

double neighbour_loss(const Vicinity& vicinity, const double* at, double n_behind, double* slope) {
  const std::size_t n_near = vicinity.n_near, d = vicinity.n_columns, n_pairs = vicinity.n_rows * n_near;
  const std::size_t n_together = std::max<std::size_t>(kPairs / n_near, 1);
  std::vector<double> per_column(d), power(n_together * n_near);
  for (std::size_t j = 0; j < d; ++j) per_column[j] = exponential(at[0] + at[1 + j]);
  std::fill_n(slope, 1 + d, 0.0);
  double loss = 0;
  for (std::size_t first = 0; first < vicinity.n_rows; first += n_together) {
    const std::size_t n_rows = std::min(n_together, vicinity.n_rows - first), from = first * n_near,
                      n = n_rows * n_near;
    std::copy_n(vicinity.log_weight + from, n, power.begin());
    for (std::size_t j = 0; j < d; ++j) {
      const double* away = vicinity.away + j * n_pairs + from;
      for (std::size_t p = 0; p < n; ++p) power[p] -= per_column[j] * away[p];
    }
    for (std::size_t i = 0; i < n_rows; ++i) {
      double* own = power.data() + i * n_near;
      const double* share = vicinity.share + from + i * n_near;
      const double most = *std::max_element(own, own + n_near);
      double sum = 0, found = 0;
      for (std::size_t k = 0; k < n_near; ++k) sum += own[k] = exponential(own[k] - most);
      for (std::size_t k = 0; k < n_near; ++k) found += (own[k] /= sum) * share[k];
      const double probability = (n_behind * found + vicinity.frequency[first + i]) / (n_behind + 1);
      const double by_found = vicinity.weight[first + i] / probability * (n_behind / (n_behind + 1));
      for (std::size_t k = 0; k < n_near; ++k) own[k] *= by_found * (share[k] - found);  // the slope by its distance
      loss -= vicinity.weight[first + i] * natural_log(probability);
    }
    for (std::size_t j = 0; j < d; ++j) slope[1 + j] += dot(power.data(), vicinity.away + j * n_pairs + from, n);
  }
  for (std::size_t j = 0; j < d; ++j) slope[0] += slope[1 + j] *= per_column[j];
  return loss;
}

}  // namespace ferl
