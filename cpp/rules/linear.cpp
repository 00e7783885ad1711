#include "rules/linear.h"

#include <algorithm>
#include <numeric>

#include "rules/scan.h"
#include "rules/search.h"

namespace ferl::rules {

std::vector<SignedRule> linear_rules(const Task& task, const PathRows& rows) {
  const Tuning& tuning = task.tuning;
  std::vector<Condition> conditions;
  for (const Feature& f : task.grid.features)
    for (Condition& own : single_conditions(f))
      if (sign_with(task, 0, own) != kNever) conditions.push_back(std::move(own));
  std::vector<double> gain(conditions.size());
  const std::size_t n_wanted =
      growing(rows.n_fit, tuning.scan_share, tuning.max_scan_rows, tuning.most_scan_rows, tuning);
  const std::size_t n = std::min(rows.n_fit, n_wanted), chunk = 64;
  const std::vector<Row> scanned(rows.row.begin(), rows.row.begin() + static_cast<std::ptrdiff_t>(n));
  std::vector<double> prior(static_cast<std::size_t>(task.n_classes()), 0.0);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i)
    prior[static_cast<std::size_t>(rows.label[i])] += rows.weight[i], total += rows.weight[i];
  double spread = 0;  // h of every row, without any rule
  // Single words need only the ridge: with 200 classes, no class has the rows that a concept of few classes would need.
  const int n_shared = task.single_words ? 1 : std::max(1, task.n_classes() - 1);
  for (const double p : prior) spread += p / total * (1 - p / total) / n_shared;
  const std::size_t n_tasks = (conditions.size() + chunk - 1) / chunk;
  task.pool.run(n_tasks, conditions.size() * n > tuning.share_linear, [&](std::size_t t) {
    std::vector<float> phi(n);
    std::vector<double> sum(prior.size());
    for (std::size_t k = t * chunk; k < std::min((t + 1) * chunk, conditions.size()); ++k) {
      std::fill(phi.begin(), phi.end(), 1.0f);
      multiply_membership(task.sample, conditions[k], scanned, phi.data());
      const FiringMoments moments = firing_moments(phi.data(), rows.weight.data(), n);
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::size_t i = 0; i < n; ++i)
        sum[static_cast<std::size_t>(rows.label[i])] +=
            static_cast<double>(rows.weight[i]) * (static_cast<double>(phi[i]) - moments.mean);
      gain[k] = 0;
      for (const double s : sum) gain[k] += s * s / (total * moments.deviation * moments.deviation);
      if (conditions[k].share * (1 - conditions[k].share) * total * spread < tuning.least_weight) gain[k] = -1;
    }
  });
  std::vector<std::size_t> order(conditions.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gain[a] > gain[b]; });
  const std::size_t most = task.max_conditions == 1 ? tuning.linear_curves : tuning.linear_rules;
  std::vector<SignedRule> out;
  for (std::size_t k = 0; k < std::min(order.size(), most) && gain[order[k]] >= 0; ++k) {
    const Condition& condition = conditions[order[k]];
    out.push_back({{condition}, sign_with(task, 0, condition)});
  }
  return out;
}

}  // namespace ferl::rules
