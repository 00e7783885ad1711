#include "rules/prune.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/exponential.h"
#include "rules/cholesky.h"

namespace ferl::rules {

namespace {

// Against rounding:
constexpr double kLeastPivot = 1e-12;        // of the inverse normal matrix
constexpr double kLeastProbability = 1e-12;  // whose logarithm is taken
constexpr double kLeastRidge = 1e-6;         // added to the diagonal of the normal matrix
constexpr double kRepairRidge = 1e-7;        // relative to its diagonal, added where it has no inverse

class Pruner {
 public:
  Pruner(FitRows rows, const std::vector<RuleColumn>& rules, const Weights& weights, const PruneOptions& options,
         const Tuning& tuning, ThreadPool& pool)
      : rows_(rows), rules_(rules), options_(options), tuning_(tuning), pool_(pool),
        n_channels_(n_channels(rows.n_classes)) {
    rows_.n = std::min(rows_.n, tuning_.prune_rows);
    target_ = answers(rules, weights);
    rows_.label = nullptr;
    rows_.target = target_.data();
    for (std::size_t i = 0; i < rows_.n; ++i) total_ += rows_.weight[i];
    for (const float own : target_) {
      log_target_.push_back(log_of(own));
      if (n_channels_ == 1) log_other_.push_back(log_of(1.0 - static_cast<double>(own)));
    }
    state_.kept.resize(rules.size());
    std::iota(state_.kept.begin(), state_.kept.end(), 0);
    state_.weights = weights;
  }

  Pruned run() {
    auto n_drop = state_.kept.size();
    while (!state_.kept.empty()) {
      const std::size_t n = state_.kept.size(), n_over = n > options_.max_rules ? n - options_.max_rules : 0;
      const auto share = static_cast<std::size_t>(tuning_.drop_share * static_cast<double>(n));
      n_drop = std::min(n_drop, std::max<std::size_t>(1, share));
      if (n_over > 0)
        n_drop = std::min(n_drop, n_over);
      else if (options_.tolerance <= 0)
        break;
      Pruned next = without(n_drop);
      if (n_over > 0 || next.divergence <= options_.tolerance) {
        take(std::move(next));
      } else {
        if (n_drop == 1) break;
        n_drop /= 2;
      }
    }
    if (options_.worth > 0) drop_what_is_worth_little();
    return std::move(state_);
  }

 private:
  // Takes the smaller rule base with the least divergence plus worth times its number of rules. The worth is a share of
  // the information of all rules, not a number of nats: if one class is rare, the information is only a few nats. The
  // information counts as at most one nat, or a model of many classes would keep too few rules.
  void drop_what_is_worth_little() {
    const double worth = options_.worth * std::min(1.0, information());
    const auto cost = [&](const Pruned& own) { return own.divergence + worth * static_cast<double>(own.kept.size()); };
    Pruned best = state_;
    while (!state_.kept.empty()) {
      take(without(1));
      if (cost(state_) < cost(best)) best = state_;
    }
    state_ = std::move(best);
  }

  double ridge() const { return tuning_.prune_ridge_share * std::min(options_.ridge, tuning_.most_prune_ridge); }

  // [channel][row]: of each class, or of the second of two.
  std::vector<float> answers(const std::vector<RuleColumn>& rules, const Weights& weights) const {
    return probabilities(rules, weights, n_channels_, 0, rows_.n);
  }

  static double log_of(double p) { return natural_log(std::max(p, kLeastProbability)); }

  double divergence(const std::vector<float>& q) const {
    const auto term = [](double a, double log_a, double b) { return a * (log_a - log_of(b)); };
    double sum = 0;
    for (std::size_t i = 0; i < rows_.n; ++i) {
      if (rows_.weight[i] == 0) continue;
      double own = 0;
      for (std::size_t c = 0; c < n_channels_; ++c) {
        const std::size_t at = c * rows_.n + i;
        own += term(target_[at], log_target_[at], q[at]);
      }
      if (n_channels_ == 1) own += term(1.0 - target_[i], log_other_[i], 1.0 - q[i]);
      sum += rows_.weight[i] * own;
    }
    return sum / total_;
  }

  // Mean divergence of the whole model's answers from their own mean, in nats.
  double information() const {
    std::vector<float> mean(target_.size());
    for (std::size_t c = 0; c < n_channels_; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < rows_.n; ++i)
        sum += static_cast<double>(rows_.weight[i]) * static_cast<double>(target_[c * rows_.n + i]);
      std::fill_n(mean.begin() + static_cast<std::ptrdiff_t>(c * rows_.n), rows_.n, static_cast<float>(sum / total_));
    }
    return divergence(mean);
  }

  // Drops rules one by one, the one whose loss costs least first; the others take over in closed form, and are
  // refitted at the end.
  Pruned without(std::size_t n_drop) {
    const std::size_t n = state_.kept.size(), e = n_channels_;
    const std::vector<RuleColumn> rules = columns(state_.kept);
    if (inverse_.empty()) inverse_ = inverse_curvature(rules);
    std::vector<double> inverse = inverse_, w(n * e);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t c = 0; c < e; ++c) w[k * e + c] = state_.weights.v[k * e + c] * rules[k].moments.deviation;
    std::vector<char> is_alive(n, 1);
    for (std::size_t drop = 0; drop < n_drop; ++drop) {
      std::size_t worst = n;
      double least = 0;
      for (std::size_t k = 0; k < n; ++k) {
        if (!is_alive[k]) continue;
        double cost = 0;
        for (std::size_t c = 0; c < e; ++c) cost += w[k * e + c] * w[k * e + c];
        cost /= std::max(inverse[k * n + k], kLeastPivot);
        if (worst == n || cost < least) worst = k, least = cost;
      }
      const std::vector<double> q(inverse.begin() + static_cast<std::ptrdiff_t>(worst * n),
                                  inverse.begin() + static_cast<std::ptrdiff_t>((worst + 1) * n));
      const std::vector<double> gone(w.begin() + static_cast<std::ptrdiff_t>(worst * e),
                                     w.begin() + static_cast<std::ptrdiff_t>((worst + 1) * e));
      // If weights are so large that the ridge is negligible, rounding loses the pivot: only the refit corrects the
      // weights.
      const bool has_pivot = q[worst] > kLeastPivot;
      for (std::size_t k = 0; has_pivot && k < n; ++k) {
        const double part = q[k] / q[worst];
        for (std::size_t c = 0; c < e; ++c) w[k * e + c] -= part * gone[c];
        for (std::size_t l = 0; l < n; ++l) inverse[k * n + l] -= part * q[l];
      }
      is_alive[worst] = 0;
    }
    Pruned out;
    std::vector<std::size_t> local;
    for (std::size_t k = 0; k < n; ++k)
      if (is_alive[k]) local.push_back(k), out.kept.push_back(state_.kept[k]);
    // The constant keeps the mean score.
    out.weights.b = state_.weights.b;
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t c = 0; c < e; ++c) out.weights.b[c] += state_.weights.v[k * e + c] * rules[k].moments.mean;
    for (const std::size_t k : local)
      for (std::size_t c = 0; c < e; ++c) {
        out.weights.v.push_back(w[k * e + c] / rules[k].moments.deviation);
        out.weights.b[c] -= out.weights.v.back() * rules[k].moments.mean;
      }
    const std::vector<RuleColumn> left = columns(out.kept);
    Refit refit(rows_, left, pool_, tuning_);
    refit.fit({ridge(), tuning_.prune_iterations, tuning_.prune_tolerance}, out.weights);
    out.divergence = divergence(answers(left, out.weights));
    return out;
  }

  void take(Pruned next) {
    state_ = std::move(next);
    inverse_.clear();
  }

  std::vector<RuleColumn> columns(const std::vector<std::size_t>& kept) const {
    std::vector<RuleColumn> out;
    for (const std::size_t k : kept) out.push_back(rules_[k]);
    return out;
  }

  // The inverse of the ridge normal matrix with the constant eliminated.
  std::vector<double> inverse_curvature(const std::vector<RuleColumn>& rules) const {
    const std::size_t n = rules.size();
    Refit refit(rows_, rules, pool_, tuning_);
    const std::vector<double>& full = refit.curvature(state_.weights);
    const double unit = ridge() * (n_channels_ == 1 ? 0.5 : 1.0);
    std::vector<double> a(n * n);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t l = 0; l < n; ++l)
        a[k * n + l] = full[(k + 1) * (n + 1) + l + 1] - full[(k + 1) * (n + 1)] * full[l + 1] / full[0] +
                       (k == l ? unit * rules[k].ridge_share + kLeastRidge : 0.0);
    std::vector<double> inverse = Cholesky(a, n).inverse();
    // If one row outweighs all others, rounding leaves a matrix that has no inverse: a larger ridge gives it one.
    double largest = kLeastRidge;
    for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, std::abs(a[k * n + k]));
    for (double more = kRepairRidge * largest; !are_finite(inverse) && std::isfinite(more); more *= 10) {
      for (std::size_t k = 0; k < n; ++k) a[k * n + k] += more;
      inverse = Cholesky(a, n).inverse();
    }
    return inverse;
  }

  static bool are_finite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double own) { return std::isfinite(own); });
  }

  FitRows rows_;
  const std::vector<RuleColumn>& rules_;
  PruneOptions options_;
  const Tuning& tuning_;
  ThreadPool& pool_;
  std::size_t n_channels_;
  std::vector<float> target_;
  std::vector<double> log_target_, log_other_;  // of the target, and of the other one of two classes
  std::vector<double> inverse_;                 // of the state's curvature; empty: not needed yet
  double total_ = 0;
  Pruned state_;
};

}  // namespace

Pruned prune(FitRows rows, const std::vector<RuleColumn>& rules, const Weights& weights, const PruneOptions& options,
             const Tuning& tuning, ThreadPool& pool) {
  return Pruner(rows, rules, weights, options, tuning, pool).run();
}

}  // namespace ferl::rules
