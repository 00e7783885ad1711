// Inner validation: which start, how many rules, which ridge.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rules/path.h"

namespace ferl::rules {

struct Choice {
  double loss;  // mean log-loss of validation rows
  std::size_t start, n_rules;
  double ridge;
  double scale = 1;  // times the weights of the refit
};

inline std::vector<Start> starts(const Tuning& tuning) {
  return {{true, tuning.linear_tau}, {false, tuning.empty_tau}};
}

// The ridges that are tried, strong to weak; more rows have more ridges.
std::vector<double> ridges(const Sample& sample, const Tuning& tuning);

// The part (0 .. n_parts - 1) of each row: alike in the classes, by content. Each turn has different parts. Rows of one
// group are in one part: groups are assigned, the heaviest first, each to the part that has the least weight of its
// classes.
std::vector<int> stratified_parts(const Sample& sample, std::size_t n_rows, int n_parts, int turn = 0);

struct Choices {
  std::vector<Choice> tried;  // the best first, never empty
  double linear_ridge;        // the best ridge for the linear rules alone
  // The paths of the best start, one for each part that validates, and the weights of the best choice for the first
  // rules of each; nothing if there was nothing to validate.
  std::vector<std::unique_ptr<Path>> paths = {};
  std::vector<Weights> weights = {};

  // The path that has found the rules, if only one was validated: it is fitted on most rows.
  const Path* followed() const { return paths.size() == 1 ? paths.front().get() : nullptr; }
};

Choices choose(const Task& task, std::size_t max_rules, std::uint64_t seed, int turn);

}  // namespace ferl::rules
