// Fewer rules that give nearly the same answers: rules are dropped while the model's own probabilities change little.
#pragma once

#include <cstddef>
#include <vector>

#include "core/thread_pool.h"
#include "rules/refit.h"

namespace ferl::rules {

struct PruneOptions {
  double tolerance = 0.0015;    // mean Kullback-Leibler divergence from the whole model; 0: only the budget counts
  std::size_t max_rules = 150;  // never more are left
  double worth = 0;             // share of the information of all rules that each rule must be worth; 0: any
  double ridge = 10;            // of the whole model
};

struct Pruned {
  std::vector<std::size_t> kept;  // indices of rules, ascending
  Weights weights;
  double divergence = 0;
};

// rows: their labels and targets are ignored.
Pruned prune(FitRows rows, const std::vector<RuleColumn>& rules, const Weights& weights, const PruneOptions& options,
             const Tuning& tuning, ThreadPool& pool);

}  // namespace ferl::rules
