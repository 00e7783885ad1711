// Curves and maps behind the rules: piecewise constant functions of one column and of two, boosted on what the rules
// leave over. Inner validation chooses whether, which and how many; then they are learned on all rows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rules/grid_boost.h"
#include "rules/path_rows.h"
#include "rules/rule.h"

namespace ferl::rules {

// Rules with their weights, [rule][class], and the prior.
struct WeightedRules {
  const std::vector<Rule>& rules;
  const std::vector<double>& weight;
  const std::vector<double>& prior;
};

// One curve or map, as models have it.
struct LearnedGrid {
  Column first, second;  // second -1: a curve
  std::vector<double> first_cuts, second_cuts;
  std::vector<double> value;  // [cell][class], each cell's sum is zero
};

struct LearnedGrids {
  std::vector<LearnedGrid> grids;                   // curves by column, then maps, the one worth most first
  std::vector<double> prior;                        // [class]: what goes into the prior of the rules
  std::vector<std::pair<std::string, double>> log;  // what was tried, and its validation loss
};

struct GridOptions {
  int max_maps = 25;                       // 0: curves alone
  std::vector<int> monotone = {};          // [column]; empty: none
  std::vector<int> curves_only = {};       // [column]: 1: rules do not read it; empty: none
  bool last_stage_ignores_groups = false;  // the stage of these columns is validated on rows of all groups
};

// Curves that are boosted together with maps. A map has at least one column of these curves; its other one may be any
// of the partners.
struct GridStage {
  std::vector<GridTerm> curves;
  std::vector<std::size_t> partners;  // binned columns, ascending
  std::size_t max_maps;
};

// What validation has chosen for a stage.
struct GridPlan {
  bool is_used = false;
  std::vector<std::pair<std::size_t, std::size_t>> pairs = {};  // of binned columns
  Reached curves = {}, maps = {};
  double price = 0;  // of merging
};

// What validation has chosen, and what it has seen.
struct GridPlans {
  std::vector<BinnedColumn> columns = {};
  std::vector<GridStage> stages = {};
  std::vector<GridPlan> plans = {};
  std::vector<std::pair<std::string, double>> log = {};
  std::size_t n_validating = 0;  // the first ones of `other`

  bool is_any_used() const;
};

// validated: rules of a path on `fit`, rows of the sample, which none of `other` belongs to; their weights were fitted
// on `fit`.
GridPlans choose_grids(const Sample& sample, const WeightedRules& validated, const std::vector<Row>& fit,
                       const std::vector<Row>& other, const GridOptions& options, const Tuning& tuning,
                       ThreadPool& pool);

// last: the rules that the model has.
LearnedGrids learn_grids(const Sample& sample, GridPlans chosen, const WeightedRules& last, const Tuning& tuning,
                         ThreadPool& pool);

// The same on some rows alone, for rules that were fitted on them. n_stages: how many of the stages.
LearnedGrids learn_grids_on(const Sample& sample, const GridPlans& chosen, std::vector<Row> rows,
                            const WeightedRules& rules, std::size_t n_stages, const Tuning& tuning, ThreadPool& pool);

}  // namespace ferl::rules
