// A path: rules join one by one, the one that gains most first, and all weights are refitted now and then.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "core/thread_pool.h"
#include "rows/sample.h"
#include "rules/knots.h"
#include "rules/refit.h"
#include "rules/rule.h"
#include "rules/scan.h"

namespace ferl::rules {

// Where a path starts, and what it asks of a condition.
struct Start {
  bool linear;  // with a ramp over the whole range of the best features: logistic regression is inside the model
  double tau;   // gain that each condition costs
};

struct PathOptions {
  Start start;
  std::size_t max_conditions = 3;
  std::vector<int> monotone;  // [column], of the second class's score; empty: none
  bool single_words = false;  // every rule is one word that somebody gave
  std::uint64_t seed = 0;
};

class Path {
 public:
  // Fitted on some rows; the firing of the others is kept for validation. Followed: a path whose rules are taken over.
  Path(const Sample& sample, const Grid& grid, const std::vector<Row>& fit_rows, const std::vector<Row>& other_rows,
       const PathOptions& options, ThreadPool& pool, const Path* followed = nullptr);

  // Adds rules until there are n, or no candidate gains anything: those of the path that is followed, then new ones.
  void grow_to(std::size_t n);

  // Frees what is needed to grow or to fit: the rules stay, to be followed.
  void keep_rules_alone();

  std::size_t size() const { return rules_.size(); }
  const std::vector<Rule>& rules() const { return rules_; }
  const Weights& weights() const { return weights_; }

  // A refit of all weights on all rows to fit, and what it needs.
  Refit refit() const;
  FitRows fit_rows() const;
  std::vector<RuleColumn> columns() const;
  // The ridge of the linear rules, which need less of it than others, is at most this.
  void set_linear_ridge(double most) { linear_ridge_ = most; }
  // Log-loss on the other rows, summed by weight.
  double validation_loss(const Weights& weights) const;
  double validation_weight() const;

 private:
  struct Candidate {
    double gain;
    Rule rule;
    int sign;
  };

  static constexpr std::size_t kRefitEvery = 5;      // rules; scanned rows are redrawn as often
  static constexpr std::size_t kWorthSharing = 10'000;  // rows times features times channels

  void add_linear();
  bool step();
  void draw_rows();
  void set_residuals();
  std::vector<Found> scan_features();
  std::vector<Candidate> beginnings(const std::vector<Found>& found) const;
  std::vector<Candidate> search();
  void extend(const Candidate& from, std::size_t n_best, std::vector<Candidate>& out);
  void append(Rule rule, int sign);
  void fire_from(std::size_t first);
  void take_over(std::size_t n);
  void join(Rule rule, int sign);
  void weigh_last();
  void correct();
  void rescore();
  double ridge_share(const FiringMoments& moments) const;
  double correlation(std::size_t a, std::size_t b) const;
  int sign_with(int sign, const Condition& condition) const;
  // Whether a row is of the class whose score a channel holds, as a number.
  double is_class(Row r, std::size_t channel) const {
    return static_cast<std::size_t>(label_[r]) == (n_classes_ == 2 ? 1 : channel) ? 1.0 : 0.0;
  }
  std::uint64_t draw(std::uint64_t purpose) const;

  const Sample& sample_;
  const Grid& grid_;
  PathOptions options_;
  ThreadPool& pool_;
  int n_classes_;
  std::size_t n_channels_;
  // Rows to fit, then the others, each part padded with rows that have no weight.
  std::vector<Row> rows_;
  std::size_t n_fit_, n_fit_padded_, n_other_padded_, n_other_;
  std::size_t n_path_;  // rows that the path itself is fitted on: the first ones
  AlignedVector<float> weight_;
  AlignedVector<Label> label_;
  std::vector<Rule> rules_;
  std::vector<int> sign_;
  std::vector<AlignedVector<float>> firing_;  // [rule][row]; of the first rows alone, where all are packed
  bool is_packed_;
  std::vector<PackedFiring> packed_;          // [rule]
  std::vector<FiringMoments> moments_, path_moments_;
  Weights weights_;
  std::vector<float> score_;  // [channel][row of the path]
  Scanner scanner_;
  std::vector<Row> scanned_;  // indices into rows_
  std::vector<float> probability_;  // [channel][scanned row]
  std::vector<std::size_t> features_, active_;
  std::size_t n_steps_ = 0, n_corrected_ = 0, target_ = 0;
  std::size_t n_linear_ = 0;
  double scan_scale_ = 1, linear_ridge_ = 1e300;
  const Path* followed_ = nullptr;
};

}  // namespace ferl::rules
