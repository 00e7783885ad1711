// Inner validation: which start, how many rules, which ridge.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/thread_pool.h"
#include "rows/sample.h"
#include "rules/knots.h"
#include "rules/path.h"

namespace ferl::rules {

inline constexpr std::size_t kValidationRows = 20'000;  // more are not looked at before the last path

struct Choice {
  double loss;  // mean log-loss of validation rows
  std::size_t start, n_rules;
  double ridge;
  double scale = 1;  // times the weights of the refit
};

inline std::vector<Start> starts() { return {{true, 10}, {false, 2}}; }

// The part (0 .. n_parts - 1) of each row: alike in the classes, by content.
std::vector<int> stratified_parts(const Sample& sample, std::size_t n_rows, int n_parts);

struct Choices {
  std::vector<Choice> tried;  // the best first, never empty
  double linear_ridge;        // that is best for the linear rules alone
  // Of the best start, where one path was validated and not several: fitted on most rows, it has found the rules.
  std::unique_ptr<Path> path = nullptr;
};

Choices choose(const Sample& sample, const Grid& grid, const PathOptions& options, std::size_t max_rules,
               ThreadPool& pool);

}  // namespace ferl::rules
