// Learning of rules, all of it: inner validation, the path on all rows, averaged weights, pruning, curves and maps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/parallel.h"
#include "rows/sample.h"
#include "rules/choose.h"
#include "rules/grids.h"
#include "rules/rule.h"
#include "rules/tuning.h"

namespace ferl::rules {

struct RuleOptions {
  std::size_t max_rules = 150;
  std::size_t max_conditions = 3;
  double prune = 0.0015;           // mean divergence that pruning may cost; 0: none
  double min_rule_worth = 0;       // share of the information of all rules that each rule must be worth
  int effort = 1;                  // models of other seeds and other parts that are averaged, at the size of one
  std::vector<int> monotone = {};  // [column], two classes: sign of the second one's score; empty: none
  std::optional<std::vector<Condition>> words = {};  // the allowed conditions; none: ramps and sets of categories
  std::vector<int> curves_only = {};  // [column]: 1: curves and maps read it, conditions do not; empty: none
  // Whether curves and maps that read these columns, the last stage, are validated on rows of all groups: such columns
  // describe the groups themselves, as a date describes its day.
  bool last_stage_ignores_groups = false;
  int n_threads = 1;
  std::uint64_t seed = 0;
  int max_maps = 25;  // 0: curves alone; -1: neither curves nor maps
  Tuning tuning = {};
};

struct LearnedRules {
  std::vector<Rule> rules;
  std::vector<double> weight;   // [rule][class], each rule's sum is zero
  std::vector<double> prior;    // [class], their sum is zero
  std::vector<double> ridge;    // [rule]: ridge of the best choice on its standardised weight
  std::vector<Choice> choices;  // what inner validation has tried, the best first
  std::size_t n_grown = 0;      // rules before pruning
  std::size_t n_averaged = 0;   // choices whose weights were averaged
  double divergence = 0;        // from the answers before pruning
  LearnedGrids grids;           // curves and maps, whose constant is in the prior already
};

// What inner validation has learned on some rows of the sample, and rows that it was not learned from.
struct HeldOut {
  std::vector<Row> fit, other;
  LearnedRules learned;
};

// Returns the divergence that pruning may cost, by what inner validation has learned: one for each part that validated.
using Judge = std::function<double(const std::vector<HeldOut>&)>;

// judge: chooses `prune` once all rules are grown. Without a judge, `options.prune` counts.
LearnedRules grow_rules(const Sample& sample, const RuleOptions& options, Monitor& monitor, const Judge& judge = {});

}  // namespace ferl::rules
