#include "rules/fired_rules.h"

#include <algorithm>

#include "core/free_memory.h"

namespace ferl::rules {

FiredRules::FiredRules(const Task& task, const PathRows& rows)
    : task_(task), rows_(rows), is_packed_(rows.is_packed),
      // The path, the curvature of refits and pruning read the first rows as they are.
      n_plain_(std::min(rows.n_fit_padded,
                        std::max({rows.n_path, task.tuning.most_curvature_rows, task.tuning.prune_rows}))) {}

void FiredRules::append(std::vector<SignedRule> more) {
  const std::size_t first = rules_.size();
  for (SignedRule& own : more) rules_.push_back({std::move(own.rule), own.sign});
  task_.pool.run(more.size(), rows_.row.size() > task_.tuning.share_firings, [&](std::size_t k) {
    FiredRule& own = rules_[first + k];
    AlignedVector<float> firing(rows_.row.size(), 1.0f);
    for (const Condition& condition : own.rule) multiply_membership(task_.sample, condition, rows_.row, firing.data());
    own.moments = firing_moments(firing.data(), rows_.weight.data(), rows_.n_fit_padded);
    own.path_moments = rows_.n_path == rows_.n_fit_padded
                           ? own.moments
                           : firing_moments(firing.data(), rows_.weight.data(), rows_.n_path);
    if (is_packed_) {
      own.packed = PackedFiring(firing.data(), rows_.row.size());
      firing.resize(n_plain_);
      firing.shrink_to_fit();
    }
    own.firing = std::move(firing);
  });
}

void FiredRules::free_firings() {
  for (FiredRule& own : rules_) {
    free_memory(own.firing);
    own.packed = {};
  }
}

std::size_t FiredRules::find(const Rule& rule) const {
  const auto found =
      std::find_if(rules_.begin(), rules_.end(), [&](const FiredRule& own) { return same_rule(own.rule, rule); });
  return static_cast<std::size_t>(found - rules_.begin());
}

// A word means the same whether it is common or rare: the ridge applies to its weight, not to weight times deviation.
double FiredRules::ridge_share(const FiringMoments& moments) const {
  constexpr double kEvenVariance = 1.0 / 12;  // of a firing that is spread evenly from 0 to 1
  return task_.single_words ? kEvenVariance / (moments.deviation * moments.deviation) : 1.0;
}

std::vector<RuleColumn> FiredRules::columns(std::size_t n_linear, double most_linear_ridge) const {
  std::vector<RuleColumn> out;
  for (std::size_t k = 0; k < rules_.size(); ++k) {
    const FiredRule& own = rules_[k];
    out.push_back({own.firing.data(), own.moments, own.sign, k < n_linear ? most_linear_ridge : kNoLimit,
                   ridge_share(own.moments), is_packed_ ? &own.packed : nullptr, is_packed_ ? n_plain_ : SIZE_MAX});
  }
  return out;
}

std::vector<RuleColumn> FiredRules::path_columns(std::size_t n_linear, double most_linear_ridge) const {
  // Fewer rows, less ridge.
  const double part = rows_.path_part();
  std::vector<RuleColumn> out = columns(n_linear, most_linear_ridge);
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k].moments = rules_[k].path_moments;
    out[k].max_ridge *= part;
    out[k].ridge_share = ridge_share(rules_[k].path_moments);
  }
  return out;
}

double FiredRules::correlation(std::size_t a, std::size_t b) const {
  const FiredRule &x = rules_[a], &y = rules_[b];
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < rows_.n_path; ++i) {
    const double w = rows_.weight[i];
    sum += w * (static_cast<double>(x.firing[i]) - x.path_moments.mean) *
           (static_cast<double>(y.firing[i]) - y.path_moments.mean);
    total += w;
  }
  return sum / (total * x.path_moments.deviation * y.path_moments.deviation);
}

}  // namespace ferl::rules
