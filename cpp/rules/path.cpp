#include "rules/path.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/exponential.h"
#include "core/free_memory.h"
#include "rules/linear.h"

namespace ferl::rules {

namespace {

// The first weights of a rule, [channel]: a share of a Newton step for each class, from residuals of the scanned rows.
std::vector<double> first_weights(const Task& task, const PathRows& rows, const ScanRows& scanned,
                                  const Residuals& residuals, const FiredRule& rule) {
  const Tuning& tuning = task.tuning;
  const std::size_t n_channels = task.n_channels(), n = padded(scanned.index.size());
  const double mean = rule.path_moments.mean;
  std::vector<double> slope(n_channels, 0.0), curve(n_channels, tuning.newton_smoothing / scanned.scale);
  for (std::size_t i = 0; i < scanned.index.size(); ++i) {
    const Row r = scanned.index[i];
    const double w = rows.weight[r], z = rule.firing[r] - mean;
    for (std::size_t c = 0; c < n_channels; ++c) {
      const double p = residuals.probability[c * n + i];
      slope[c] += w * z * (rows.is_class(r, c) - p);
      curve[c] += w * z * z * p * (1 - p);
    }
  }
  std::vector<double> v(n_channels);
  for (std::size_t c = 0; c < n_channels; ++c)
    v[c] = std::clamp(tuning.newton_share * slope[c] / curve[c], -tuning.most_step, tuning.most_step);
  if (n_channels == 1) {
    v[0] *= 2;  // both classes move by half of it
    if (v[0] * rule.sign < 0) v[0] = 0;
  } else {
    const double centre = std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
    for (double& own : v) own -= centre;
  }
  return v;
}

}  // namespace

Path::Path(const Task& task, const std::vector<Row>& fit_rows, const std::vector<Row>& other_rows, Start start,
           std::uint64_t seed, const Path* followed)
    : task_(task), start_(start), seed_(seed), rows_(path_rows(task, fit_rows, other_rows)), followed_(followed),
      rules_(task, rows_), weights_{{}, prior_scores(rows_, task.tuning.least_prior)},
      scanner_(task.grid, task.monotone, task.tuning) {
  rescore();
  if (followed_) {
    n_linear_ = followed_->n_linear_;
    take_over(n_linear_);
  } else if (start_.linear) {
    start_linear();
  }
}

void Path::grow_to(std::size_t n) {
  if (task_.grid.features.empty() || task_.n_classes() < 2) return;
  if (followed_) take_over(n);
  while (rules_.size() < n) {
    const Dice dice{seed_, n_steps_};
    // Now and then other rows are scanned, and all features on them.
    const bool is_turn = n_steps_ % task_.tuning.refit_every == 0;
    if (is_turn || scanned_.index.empty()) redraw(dice);
    const Residuals residuals = residuals_of(task_, rows_, scanned_, score_, dice);
    const double unit = task_.n_classes() == 2 ? 2.0 : 1.0;  // the residuals of the other class are the same
    scanner_.set_residuals(residuals.gradient, residuals.n_gradients, residuals.hessian, unit, task_.n_classes(),
                           scanned_.scale);
    FeatureScan scan = scan_features(task_, scanner_, std::move(active_), is_turn);
    const std::vector<Candidate> found = search(task_, scanner_, scan, start_.tau, dice);
    active_ = std::move(scan.active);
    ++n_steps_;
    if (!join_best(found, residuals, n)) break;
    if (is_refit_due()) correct();
  }
  if (n_corrected_ != rules_.size()) correct();
}

void Path::start_linear() {
  rules_.append(linear_rules(task_, rows_));
  n_linear_ = rules_.size();
  weights_.v.assign(rules_.size() * task_.n_channels(), 0.0);
  correct();
}

void Path::take_over(std::size_t n) {
  std::vector<SignedRule> more;
  for (std::size_t k = rules_.size(); k < std::min(n, followed_->size()); ++k)
    more.push_back({followed_->rules_[k].rule, followed_->rules_[k].sign});
  rules_.append(std::move(more));
  weights_.v.resize(rules_.size() * task_.n_channels(), 0.0);
}

void Path::absorb(const Path& other, const Weights& more, Weights& weights) {
  const std::size_t e = task_.n_channels();
  std::vector<SignedRule> added;
  for (std::size_t c = 0; c < e; ++c) weights.b[c] += more.b[c];
  for (std::size_t k = 0; k < other.size(); ++k) {
    const auto own = more.v.begin() + static_cast<std::ptrdiff_t>(k * e);
    if (const std::size_t at = rules_.find(other.rule(k)); at < rules_.size()) {
      for (std::size_t c = 0; c < e; ++c) weights.v[at * e + c] += own[static_cast<std::ptrdiff_t>(c)];
    } else {
      added.push_back({other.rule(k), other.rules_[k].sign});
      weights.v.insert(weights.v.end(), own, own + static_cast<std::ptrdiff_t>(e));
    }
  }
  rules_.append(std::move(added));
}

void Path::redraw(const Dice& dice) {
  const std::size_t n_wanted = n_scan_rows(task_);
  if (!scanned_.index.empty() && std::min(rows_.n_fit, rows_.n_path) <= n_wanted) return;  // all are scanned
  scanned_ = draw_scan_rows(task_, rows_, n_wanted, dice);
  std::vector<Row> rows;
  for (const Row i : scanned_.index) rows.push_back(rows_.row[i]);
  scanner_.set_rows(rows);
}

// Adds the best candidate that is no rule yet; after some rules also the next candidate that is different enough.
// Returns false if no candidate gains anything.
bool Path::join_best(const std::vector<Candidate>& found, const Residuals& residuals, std::size_t n) {
  const Tuning& tuning = task_.tuning;
  const auto first = std::find_if(found.begin(), found.end(),
                                  [&](const Candidate& own) { return own.gain > 0 && !rules_.has(own.rule); });
  if (first == found.end()) return false;
  rules_.append({{first->rule, first->sign}});
  weigh_last(residuals);
  if (rules_.size() < tuning.pairs_after || rules_.size() >= n) return true;
  for (auto other = first + 1; other != found.end(); ++other) {
    if (other->gain <= tuning.least_of_best * first->gain || same_columns(other->rule, first->rule) ||
        rules_.has(other->rule))
      continue;
    rules_.append({{other->rule, other->sign}});
    if (std::fabs(rules_.correlation(rules_.size() - 1, rules_.size() - 2)) < tuning.most_correlation) {
      weigh_last(residuals);
      break;
    }
    rules_.pop_back();
  }
  return true;
}

void Path::weigh_last(const Residuals& residuals) {
  const FiredRule& rule = rules_.back();
  const double mean = rule.path_moments.mean;
  const std::vector<double> v = first_weights(task_, rows_, scanned_, residuals, rule);
  weights_.v.insert(weights_.v.end(), v.begin(), v.end());
  for (std::size_t c = 0; c < v.size(); ++c) {
    weights_.b[c] -= mean * v[c];
    for (std::size_t i = 0; i < rows_.n_path; ++i)
      score_[c * rows_.n_path + i] += static_cast<float>((static_cast<double>(rule.firing[i]) - mean) * v[c]);
  }
}

bool Path::is_refit_due() const {
  const Tuning& tuning = task_.tuning;
  const std::size_t every = std::max(
      {tuning.refit_every, rules_.size() / tuning.refit_rule_share, task_.n_channels() / tuning.refit_channel_share});
  return rules_.size() - n_corrected_ >= every || rules_.size() <= tuning.refit_always;
}

// All weights at once, on the rows of the path.
void Path::correct() {
  const Tuning& tuning = task_.tuning;
  FitRows rows = fit_rows();
  rows.n = rows_.n_path;
  const double part = rows_.path_part();
  Refit refit(rows, rules_.path_columns(n_linear_, linear_ridge_), task_.pool, tuning);
  refit.fit({tuning.path_ridge * part, tuning.path_iterations, tuning.path_tolerance}, weights_);
  rescore();
  n_corrected_ = rules_.size();
}

void Path::rescore() {
  score_.resize(task_.n_channels() * rows_.n_path);
  score_rows(columns(), weights_, task_.n_channels(), 0, rows_.n_path, score_.data());
}

void Path::keep_rules_alone() {
  rules_.free_firings();
  free_memory(score_);
  scanner_.set_rows({});
}

FitRows Path::fit_rows() const {
  return {rows_.n_fit_padded, rows_.n_classes, rows_.weight.data(), rows_.label.data(), nullptr};
}

double Path::validation_weight() const {
  return std::accumulate(rows_.weight.begin() + static_cast<std::ptrdiff_t>(rows_.n_fit_padded), rows_.weight.end(),
                         0.0);
}

double Path::validation_loss(const Weights& weights) const {
  const std::size_t n = rows_.n_other_padded, first = rows_.n_fit_padded, n_channels = task_.n_channels();
  const std::vector<float> p = probabilities(columns(), weights, n_channels, first, n);
  double loss = 0;
  for (std::size_t i = 0; i < rows_.n_other; ++i) {
    const auto label = static_cast<std::size_t>(rows_.label[first + i]);
    const double own = n_channels > 1 ? p[label * n + i] : label == 1 ? p[i] : 1.0 - static_cast<double>(p[i]);
    loss += static_cast<double>(rows_.weight[first + i]) *
            std::min(-natural_log(std::max(own, 1e-300)), task_.tuning.most_loss);
  }
  return loss;
}

}  // namespace ferl::rules
