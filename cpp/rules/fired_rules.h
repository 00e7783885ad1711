// The rules of a path with their firings on all its rows.
#pragma once

#include <vector>

#include "core/aligned.h"
#include "rules/packed_firing.h"
#include "rules/path_rows.h"
#include "rules/refit.h"
#include "rules/rule.h"

namespace ferl::rules {

struct SignedRule {
  Rule rule;
  int sign = 0;  // that the second class's weight must have; 0: any
};

struct FiredRule {
  Rule rule;
  int sign = 0;
  AlignedVector<float> firing = {};  // [row]; only the first n_plain_ if all rows are packed
  PackedFiring packed = {};
  FiringMoments moments = {};       // over all rows to fit
  FiringMoments path_moments = {};  // over the rows that the path is fitted on
};

class FiredRules {
 public:
  FiredRules(const Task& task, const PathRows& rows);

  void append(std::vector<SignedRule> more);
  void pop_back() { rules_.pop_back(); }
  void free_firings();

  std::size_t size() const { return rules_.size(); }
  const FiredRule& operator[](std::size_t k) const { return rules_[k]; }
  const FiredRule& back() const { return rules_.back(); }
  std::size_t find(const Rule& rule) const;  // size(): none is equal
  bool has(const Rule& rule) const { return find(rule) < size(); }

  // The columns that refits take, on all rows to fit or on the rows of the path. Linear rules come first and get at
  // most this ridge.
  std::vector<RuleColumn> columns(std::size_t n_linear, double most_linear_ridge) const;
  std::vector<RuleColumn> path_columns(std::size_t n_linear, double most_linear_ridge) const;

  // The correlation of the firings of two rules on the rows of the path.
  double correlation(std::size_t a, std::size_t b) const;

 private:
  double ridge_share(const FiringMoments& moments) const;

  const Task& task_;
  const PathRows& rows_;
  bool is_packed_;
  std::size_t n_plain_;
  std::vector<FiredRule> rules_;
};

}  // namespace ferl::rules
