// A path: rules join one by one, the one that gains most first, and all weights are refitted now and then.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/fired_rules.h"
#include "rules/path_rows.h"
#include "rules/refit.h"
#include "rules/residuals.h"
#include "rules/scan.h"
#include "rules/search.h"

namespace ferl::rules {

// Where a path starts, and what a condition must gain.
struct Start {
  bool linear;  // with a ramp over the whole range of the best features: logistic regression is inside the model
  double tau;   // gain that each condition costs
};

class Path {
 public:
  // Fitted on some rows; the firing of the others is kept for validation. Followed: a path whose rules are taken over.
  Path(const Task& task, const std::vector<Row>& fit_rows, const std::vector<Row>& other_rows, Start start,
       std::uint64_t seed, const Path* followed = nullptr);
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  // Adds rules until there are n, or until no candidate gains anything: first the rules of the followed path, then new
  // ones.
  void grow_to(std::size_t n);
  // Adds rules of the followed path alone, up to n in all, without weights.
  void take_over(std::size_t n);

  // Adds the rules of another path on the same rows. The weights of equal rules are added up.
  void absorb(const Path& other, const Weights& more, Weights& weights);

  // Frees what is needed to grow or to fit: the rules stay, to be followed.
  void keep_rules_alone();

  std::size_t size() const { return rules_.size(); }
  const Rule& rule(std::size_t k) const { return rules_[k].rule; }
  const Weights& weights() const { return weights_; }
  const PathRows& rows() const { return rows_; }

  // A refit of all weights on all rows to fit, and what it needs.
  Refit refit() const { return {fit_rows(), columns(), task_.pool, task_.tuning}; }
  FitRows fit_rows() const;
  std::vector<RuleColumn> columns() const { return rules_.columns(n_linear_, linear_ridge_); }
  // The ridge of the linear rules, which need less of it than others, is at most this.
  void set_linear_ridge(double most) { linear_ridge_ = most; }
  // Log-loss on the other rows, summed by weight.
  double validation_loss(const Weights& weights) const;
  double validation_weight() const;

 private:
  void start_linear();
  void redraw(const Dice& dice);
  bool join_best(const std::vector<Candidate>& found, const Residuals& residuals, std::size_t n);
  void weigh_last(const Residuals& residuals);
  bool is_refit_due() const;
  void correct();
  void rescore();

  const Task& task_;
  const Start start_;
  const std::uint64_t seed_;
  const PathRows rows_;
  const Path* const followed_;
  FiredRules rules_;
  Weights weights_;
  std::vector<float> score_;  // [channel][row of the path]
  Scanner scanner_;
  ScanRows scanned_;
  std::vector<std::size_t> active_;  // features that most scans look at
  std::size_t n_steps_ = 0, n_corrected_ = 0, n_linear_ = 0;
  double linear_ridge_ = kNoLimit;
};

}  // namespace ferl::rules
