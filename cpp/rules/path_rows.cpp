#include "rules/path_rows.h"

#include <algorithm>
#include <numeric>

#include "core/exponential.h"

namespace ferl::rules {

namespace {

constexpr double kLeastTotal = 1e-3, kMostTotal = 1e12;  // weight of all rows; beyond, floats would not hold it

}  // namespace

PathRows path_rows(const Task& task, const std::vector<Row>& fit_rows, const std::vector<Row>& other_rows) {
  const Sample& sample = task.sample;
  PathRows out{};
  out.n_fit = fit_rows.size(), out.is_packed = out.n_fit > task.tuning.pack_above;
  out.n_fit_padded = out.is_packed ? (out.n_fit + kBlock - 1) / kBlock * kBlock : padded(out.n_fit);
  out.n_other = other_rows.size(), out.n_other_padded = padded(out.n_other);
  const Tuning& tuning = task.tuning;
  const std::size_t most = std::min(tuning.most_path_rows, padded(tuning.most_path_work / task.n_channels()));
  out.n_path = std::min(out.n_fit_padded, growing(out.n_fit, tuning.path_share, tuning.path_rows, most, tuning));
  out.n_classes = sample.n_classes;
  out.row = fit_rows;
  out.row.resize(out.n_fit_padded, fit_rows.front());
  out.row.insert(out.row.end(), other_rows.begin(), other_rows.end());
  out.row.resize(out.n_fit_padded + out.n_other_padded, fit_rows.front());
  out.weight.assign(out.row.size(), 0.0f);
  const double all = std::accumulate(sample.weight.begin(), sample.weight.end(), 0.0);
  const double unit = std::clamp(all, kLeastTotal, kMostTotal) / all;
  for (std::size_t i = 0; i < out.row.size(); ++i) {
    out.label.push_back(sample.y[out.row[i]]);
    if (i < out.n_fit || (i >= out.n_fit_padded && i < out.n_fit_padded + out.n_other))
      out.weight[i] = static_cast<float>(unit * sample.weight[out.row[i]]);
  }
  return out;
}

std::vector<double> prior_scores(const PathRows& rows, double least_share) {
  std::vector<double> prior(static_cast<std::size_t>(rows.n_classes), 0.0);
  double total = 0;
  for (std::size_t i = 0; i < rows.n_fit; ++i) {
    prior[static_cast<std::size_t>(rows.label[i])] += rows.weight[i];
    total += rows.weight[i];
  }
  for (double& p : prior) p = natural_log(std::max(p / total, least_share));
  const double mean = std::accumulate(prior.begin(), prior.end(), 0.0) / static_cast<double>(prior.size());
  for (double& p : prior) p -= mean;
  if (rows.n_classes == 2) return {prior[1] - prior[0]};
  return prior;
}

}  // namespace ferl::rules
