// Weights of all rules at once: multinomial logistic regression on standardised firings with a ridge. Convex, so that
// the result does not depend on where it starts, up to the tolerance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "core/thread_pool.h"
#include "core/types.h"
#include "rules/kernels.h"
#include "rules/packed_firing.h"
#include "rules/tuning.h"

namespace ferl::rules {

// Two classes need only one score: the second class's minus the first's.
inline std::size_t n_channels(int n_classes) { return n_classes == 2 ? 1 : static_cast<std::size_t>(n_classes); }

// v: [rule][channel], b: [channel].
struct Weights {
  std::vector<double> v, b;
};
Weights scaled(Weights weights, double by);

// Rows [0, n), a multiple of kWidth, of some rules' firing. Rows without weight are not there.
struct FitRows {
  std::size_t n;
  int n_classes;
  const float* weight;
  const Label* label;   // null: soft targets
  const float* target;  // [channel][n]: probabilities of the classes, of the second one where there is one channel
  const float* offset = nullptr;  // [channel][n]: scores to add to the rules' scores; null: none
};

// Mean and standard deviation of a rule's firing over rows.
struct FiringMoments {
  double mean = 0, deviation = 1;
};
FiringMoments firing_moments(const float* firing, const float* weight, std::size_t n);

inline constexpr double kNoLimit = 1e300;

// A rule in the form that a refit needs.
struct RuleColumn {
  const float* firing;  // [row]; only the first n_plain if all rows are packed
  FiringMoments moments;
  int sign = 0;                          // of the second class's weight, 0: any; two classes if not
  double max_ridge = kNoLimit;           // whatever the others get
  double ridge_share = 1;                // times the ridge: 1 for a ridge on standardised weights
  const PackedFiring* packed = nullptr;  // of all rows; null: none is
  std::size_t n_plain = SIZE_MAX;
};

struct RefitOptions {
  double ridge = 10;
  int max_iterations = 12;
  double tolerance = 1e-4;  // stop when a step is expected to improve the objective by less than this part of it
};

class Refit {
 public:
  Refit(const FitRows& rows, std::vector<RuleColumn> rules, ThreadPool& pool, const Tuning& tuning);

  // Improves the weights and returns the objective: log-loss plus ridge / 2 times squared standardised weights.
  double fit(const RefitOptions& options, Weights& weights);

  // Normal matrix of the constant and the standardised firings, in this order: [1 + rule][1 + rule], without the ridge.
  const std::vector<double>& curvature(const Weights& weights);

 private:
  void add_offset(float* score, std::size_t stride, std::size_t first, std::size_t n) const;
  double evaluate(const std::vector<double>& w, std::vector<double>& gradient);
  void sum_rows(const std::vector<float>& v, const std::vector<float>& b);
  std::vector<double> standardised(const Weights& weights) const;
  void restore(const std::vector<double>& w, Weights& weights) const;
  double search(const std::vector<double>& direction, double slope, std::vector<double>& w,
                std::vector<double>& new_gradient, double value, bool& moved);
  double fit_free(const RefitOptions& options, std::vector<double>& w);
  double fit_bounded(const RefitOptions& options, std::vector<double>& w);
  double ridge(std::size_t k) const;

  FitRows rows_;
  std::vector<RuleColumn> rules_;
  AlignedVector<float> ones_;
  ThreadPool& pool_;
  const Tuning& tuning_;
  std::size_t n_rules_, n_channels_;
  double ridge_ = 0;
  std::vector<double> curvature_;
  // The last weights evaluated, in single precision, with their loss and slopes: the next fit, with another ridge,
  // begins where the last one ended.
  struct {
    std::vector<float> v, b;
    std::vector<double> sums;  // the loss, then the slopes
  } last_;
};

// Scores of rows, a multiple of kWidth, into out[channel][row]; and what probabilities they mean.
void score_rows(const std::vector<RuleColumn>& rules, const Weights& weights, std::size_t n_channels, std::size_t first,
                std::size_t n, float* out);
std::vector<float> probabilities(const std::vector<RuleColumn>& rules, const Weights& weights, std::size_t n_channels,
                                 std::size_t first, std::size_t n);

// sum_c p_c (1 - p_c) / (number of classes - 1), from the probabilities of the i-th of n rows.
double spread_of(const float* p, std::size_t i, std::size_t n, std::size_t n_channels);

// One score of two classes becomes a weight for each; weights are centred over the classes. [rule][class]
std::vector<double> per_class(const std::vector<double>& v, int n_classes);

}  // namespace ferl::rules
