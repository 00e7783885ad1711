#include "rules/residuals.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "rules/scan.h"

namespace ferl::rules {

namespace {

// Signs that project many classes on few directions, [channel][gradient]; empty if they are few already.
std::vector<double> random_projection(std::size_t n_channels, std::size_t n_gradients, const Dice& dice) {
  std::vector<double> out;
  if (n_channels == n_gradients) return out;
  const double length = 1 / std::sqrt(static_cast<double>(n_gradients));
  for (std::size_t k = 0; k < n_channels * n_gradients; ++k) out.push_back(mix(dice(1) ^ k) & 1 ? length : -length);
  return out;
}

}  // namespace

std::size_t n_scan_rows(const Task& task) {
  const Tuning& tuning = task.tuning;
  const std::size_t gradients = std::min(task.n_channels(), kMaxGradients);
  const std::size_t work = std::max<std::size_t>(1, task.grid.features.size() * std::max<std::size_t>(2, gradients));
  const std::size_t least = std::clamp(tuning.scan_work / work, tuning.min_scan_rows, tuning.max_scan_rows);
  const std::size_t most = std::min(tuning.most_scan_rows, tuning.most_scan_work / work);
  return growing(task.sample.n_rows, tuning.scan_share, least, most, tuning);
}

ScanRows draw_scan_rows(const Task& task, const PathRows& rows, std::size_t n_wanted, const Dice& dice) {
  const std::size_t n = std::min(rows.n_fit, rows.n_path);
  ScanRows out;
  out.index.resize(n);
  std::iota(out.index.begin(), out.index.end(), 0);
  if (n > n_wanted) {
    std::vector<std::pair<std::uint64_t, Row>> order;
    const std::uint64_t salt = dice(0);
    for (std::size_t i = 0; i < n; ++i)
      order.push_back({mix(task.sample.key[rows.row[i]] ^ salt), static_cast<Row>(i)});
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n_wanted), order.end());
    for (std::size_t i = 0; i < n_wanted; ++i) out.index[i] = order[i].second;
    out.index.resize(n_wanted);
    std::sort(out.index.begin(), out.index.end());
  }
  double part = 0, all = 0;
  for (const Row i : out.index) part += rows.weight[i];
  for (std::size_t i = 0; i < rows.n_fit; ++i) all += rows.weight[i];
  out.scale = all / part;
  return out;
}

Residuals residuals_of(const Task& task, const PathRows& rows, const ScanRows& scanned, const std::vector<float>& score,
                       const Dice& dice) {
  const std::size_t n = scanned.index.size(), stride = padded(n), n_channels = task.n_channels();
  const std::size_t n_gradients = std::min(n_channels, kMaxGradients);
  Residuals out{std::vector<float>(n_channels * stride, 0.0f), std::vector<float>(n * n_gradients),
                std::vector<float>(n), n_gradients};
  for (std::size_t c = 0; c < n_channels; ++c)
    for (std::size_t i = 0; i < n; ++i) out.probability[c * stride + i] = score[c * rows.n_path + scanned.index[i]];
  kernels().probabilities(out.probability.data(), n_channels, stride, stride);
  const std::vector<double> projection = random_projection(n_channels, n_gradients, dice);
  constexpr std::size_t kRows = 16;  // a cache line of each class
  std::vector<double> mean(n_gradients, 0.0), own(kRows * n_gradients);
  double total = 0;
  for (std::size_t first = 0; first < n; first += kRows) {
    const std::size_t n_own = std::min(kRows, n - first);
    const auto residual = [&](std::size_t i, std::size_t c) {
      return rows.is_class(scanned.index[i], c) - static_cast<double>(out.probability[c * stride + i]);
    };
    std::fill(own.begin(), own.end(), 0.0);
    if (projection.empty()) {
      for (std::size_t i = 0; i < n_own; ++i)
        for (std::size_t c = 0; c < n_gradients; ++c) own[i * n_gradients + c] = residual(first + i, c);
    } else {
      for (std::size_t k = 0; k < n_channels; ++k)
        for (std::size_t i = 0; i < n_own; ++i) {
          const double left = residual(first + i, k);
          for (std::size_t c = 0; c < n_gradients; ++c)
            own[i * n_gradients + c] += left * projection[k * n_gradients + c];
        }
    }
    for (std::size_t i = 0; i < n_own; ++i) {
      const double w = rows.weight[scanned.index[first + i]];
      out.hessian[first + i] = static_cast<float>(
          w * (spread_of(out.probability.data(), first + i, stride, n_channels) + task.tuning.least_spread));
      for (std::size_t c = 0; c < n_gradients; ++c) {
        const double value = w * own[i * n_gradients + c];
        out.gradient[(first + i) * n_gradients + c] = static_cast<float>(value);
        mean[c] += value;
      }
      total += w;
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < n_gradients; ++c)
      out.gradient[i * n_gradients + c] -=
          static_cast<float>(static_cast<double>(rows.weight[scanned.index[i]]) * mean[c] / total);
  return out;
}

}  // namespace ferl::rules
