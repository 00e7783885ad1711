#include "rules/path.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rows/hash.h"
#include "core/exponential.h"
#include "core/free_memory.h"

namespace ferl::rules {

namespace {

constexpr std::size_t kLinearRules = 40;
constexpr std::size_t kLinearCurves = 150;  // the same where every rule has one condition
constexpr std::size_t kPairsAfter = 30;     // rules; then a second one joins in each step, if it is a different one
constexpr double kMostCorrelation = 0.8, kLeastOfBest = 0.3;
constexpr double kPathRidge = 10, kMostStep = 4;
constexpr std::size_t kPathRows = 4096;     // the path is fitted on; checkpoints are on all rows
static_assert(kPathRows <= kPlainRows);
constexpr std::size_t kPackAbove = 65'536;  // rows whose firings are packed, which takes up to a tenth more time for fewer
constexpr std::size_t kScanWork = 600'000;  // rows x features x channels of a scan, as long as enough rows remain
constexpr std::size_t kMinScanRows = 1200, kMaxScanRows = 3000;
constexpr double kMostLoss = 9;             // of a validation row
constexpr double kEvenVariance = 1.0 / 12;  // of a firing that is spread evenly from 0 to 1
constexpr double kLeastPrior = 1e-3;
constexpr double kLeastTotal = 1e-3, kMostTotal = 1e12;  // weight of all rows; beyond, floats would not hold it

}  // namespace

Path::Path(const Sample& sample, const Grid& grid, const std::vector<Row>& fit_rows, const std::vector<Row>& other_rows,
           const PathOptions& options, ThreadPool& pool, const Path* followed)
    : sample_(sample), grid_(grid), options_(options), pool_(pool), n_classes_(sample.n_classes),
      n_channels_(n_channels(sample.n_classes)), n_fit_(fit_rows.size()), n_fit_padded_(padded(fit_rows.size())),
      n_other_padded_(padded(other_rows.size())), n_other_(other_rows.size()),
      n_path_(std::min(n_fit_padded_, kPathRows)), is_packed_(n_fit_padded_ > kPackAbove && n_other_ == 0),
      scanner_(grid, options.monotone), followed_(followed) {
  rows_ = fit_rows;
  rows_.resize(n_fit_padded_, fit_rows.front());
  rows_.insert(rows_.end(), other_rows.begin(), other_rows.end());
  rows_.resize(n_fit_padded_ + n_other_padded_, fit_rows.front());
  weight_.assign(rows_.size(), 0.0f);
  const double all = std::accumulate(sample.weight.begin(), sample.weight.end(), 0.0);
  const double unit = std::clamp(all, kLeastTotal, kMostTotal) / all;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    label_.push_back(sample.y[rows_[i]]);
    if (i < n_fit_ || (i >= n_fit_padded_ && i < n_fit_padded_ + n_other_))
      weight_[i] = static_cast<float>(unit * sample.weight[rows_[i]]);
  }
  std::vector<double> prior(static_cast<std::size_t>(n_classes_), 0.0);
  double total = 0;
  for (std::size_t i = 0; i < n_fit_; ++i) {
    prior[static_cast<std::size_t>(label_[i])] += weight_[i];
    total += weight_[i];
  }
  for (double& p : prior) p = natural_log(std::max(p / total, kLeastPrior));
  const double mean = std::accumulate(prior.begin(), prior.end(), 0.0) / static_cast<double>(prior.size());
  for (double& p : prior) p -= mean;
  weights_.b = n_channels_ == 1 && n_classes_ == 2 ? std::vector<double>{prior[1] - prior[0]} : prior;
  features_.resize(grid.features.size());
  std::iota(features_.begin(), features_.end(), 0);
  active_ = features_;
  rescore();
  if (followed_) {
    n_linear_ = followed_->n_linear_;
    take_over(n_linear_);
  } else if (options_.start.linear) {
    add_linear();
  }
}

std::uint64_t Path::draw(std::uint64_t purpose) const {
  return mix(mix(options_.seed) ^ mix((static_cast<std::uint64_t>(n_steps_) << 8) + purpose));
}

void Path::rescore() {
  score_.resize(n_channels_ * n_path_);
  score_rows(columns(), weights_, n_channels_, 0, n_path_, score_.data());
}

// A word means the same whether it is common or rare: its weight is held by the ridge as it is, not times its deviation.
double Path::ridge_share(const FiringMoments& moments) const {
  return options_.single_words ? kEvenVariance / (moments.deviation * moments.deviation) : 1.0;
}

std::vector<RuleColumn> Path::columns() const {
  std::vector<RuleColumn> out;
  for (std::size_t k = 0; k < rules_.size(); ++k)
    out.push_back({firing_[k].data(), moments_[k], sign_[k], k < n_linear_ ? linear_ridge_ : 1e300,
                   ridge_share(moments_[k]), is_packed_ ? &packed_[k] : nullptr});
  return out;
}

FitRows Path::fit_rows() const { return {n_fit_padded_, n_classes_, weight_.data(), label_.data(), nullptr}; }

Refit Path::refit() const { return {fit_rows(), columns(), pool_}; }

double Path::validation_weight() const {
  return std::accumulate(weight_.begin() + static_cast<std::ptrdiff_t>(n_fit_padded_), weight_.end(), 0.0);
}

double Path::validation_loss(const Weights& weights) const {
  const std::size_t n = n_other_padded_;
  const std::vector<float> p = probabilities(columns(), weights, n_channels_, n_fit_padded_, n);
  double loss = 0;
  for (std::size_t i = 0; i < n_other_; ++i) {
    const auto label = static_cast<std::size_t>(label_[n_fit_padded_ + i]);
    const double own = n_channels_ > 1 ? p[label * n + i] : label == 1 ? p[i] : 1.0 - static_cast<double>(p[i]);
    loss += static_cast<double>(weight_[n_fit_padded_ + i]) * std::min(-natural_log(std::max(own, 1e-300)), kMostLoss);
  }
  return loss;
}

// The sign that a rule's weight must have when the condition joins it; kNever: none will do.
int Path::sign_with(int sign, const Condition& condition) const {
  if (options_.monotone.empty()) return 0;
  const int monotone = options_.monotone[static_cast<std::size_t>(condition.column)];
  if (monotone == 0) return sign;
  const int own = monotone * direction(condition);
  return own != 0 && (sign == 0 || sign == own) ? own : kNever;
}

void Path::append(Rule rule, int sign) {
  rules_.push_back(std::move(rule));
  sign_.push_back(sign);
  fire_from(rules_.size() - 1);
}

// The firings of the rules from the first that has none.
void Path::fire_from(std::size_t first) {
  firing_.resize(rules_.size());
  if (is_packed_) packed_.resize(rules_.size());
  moments_.resize(rules_.size());
  path_moments_.resize(rules_.size());
  pool_.run(rules_.size() - first, rows_.size() > kWorthSharing, [&](std::size_t task) {
    const std::size_t k = first + task;
    AlignedVector<float> firing(rows_.size(), 1.0f);
    for (const Condition& condition : rules_[k]) multiply_membership(sample_, condition, rows_, firing.data());
    moments_[k] = firing_moments(firing.data(), weight_.data(), n_fit_padded_);
    path_moments_[k] =
        n_path_ == n_fit_padded_ ? moments_[k] : firing_moments(firing.data(), weight_.data(), n_path_);
    if (is_packed_) {
      packed_[k] = PackedFiring(firing.data(), n_fit_padded_);
      firing.resize(kPlainRows);
      firing.shrink_to_fit();
    }
    firing_[k] = std::move(firing);
  });
}

void Path::join(Rule rule, int sign) {
  append(std::move(rule), sign);
  weigh_last();
}

// With half a Newton step for each class, by the residuals of the scanned rows.
void Path::weigh_last() {
  const int sign = sign_.back();
  const float* phi = firing_.back().data();
  const double mean = path_moments_.back().mean;
  const std::size_t n = padded(scanned_.size());
  std::vector<double> slope(n_channels_, 0.0), curve(n_channels_, 2.0 / scan_scale_);
  for (std::size_t i = 0; i < scanned_.size(); ++i) {
    const Row r = scanned_[i];
    const double w = weight_[r], z = phi[r] - mean;
    for (std::size_t c = 0; c < n_channels_; ++c) {
      const double p = probability_[c * n + i];
      slope[c] += w * z * (is_class(r, c) - p);
      curve[c] += w * z * z * p * (1 - p);
    }
  }
  std::vector<double> v(n_channels_);
  for (std::size_t c = 0; c < n_channels_; ++c) v[c] = std::clamp(0.5 * slope[c] / curve[c], -kMostStep, kMostStep);
  if (n_channels_ == 1) {
    v[0] *= 2;  // both classes move by half of it
    if (v[0] * sign < 0) v[0] = 0;
  } else {
    const double centre = std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
    for (double& own : v) own -= centre;
  }
  weights_.v.insert(weights_.v.end(), v.begin(), v.end());
  for (std::size_t c = 0; c < n_channels_; ++c) {
    weights_.b[c] -= mean * v[c];
    for (std::size_t i = 0; i < n_path_; ++i)
      score_[c * n_path_ + i] += static_cast<float>((static_cast<double>(phi[i]) - mean) * v[c]);
  }
}

void Path::correct() {
  FitRows rows = fit_rows();
  rows.n = n_path_;
  // Fewer rows, less ridge.
  const double part = static_cast<double>(n_path_) / static_cast<double>(n_fit_padded_);
  std::vector<RuleColumn> rules = columns();
  for (std::size_t k = 0; k < rules.size(); ++k) {
    rules[k].moments = path_moments_[k];
    rules[k].max_ridge *= part;
    rules[k].ridge_share = ridge_share(path_moments_[k]);
  }
  Refit refit(rows, std::move(rules), pool_);
  refit.fit({kPathRidge * part, 6, 5e-4}, weights_);
  rescore();
  n_corrected_ = rules_.size();
}

void Path::draw_rows() {
  const std::size_t gradients = std::min(n_channels_, kMaxGradients);
  const std::size_t work = std::max<std::size_t>(1, grid_.features.size() * std::max<std::size_t>(2, gradients));
  const std::size_t wanted = std::clamp(kScanWork / work, kMinScanRows, kMaxScanRows);
  const std::size_t n = std::min(n_fit_, n_path_);
  if (n <= wanted && !scanned_.empty()) return;
  scanned_.resize(n);
  std::iota(scanned_.begin(), scanned_.end(), 0);
  if (n > wanted) {
    std::vector<std::pair<std::uint64_t, Row>> order;
    const std::uint64_t salt = draw(0);
    for (std::size_t i = 0; i < n; ++i) order.push_back({mix(sample_.key[rows_[i]] ^ salt), static_cast<Row>(i)});
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end());
    for (std::size_t i = 0; i < wanted; ++i) scanned_[i] = order[i].second;
    scanned_.resize(wanted);
    std::sort(scanned_.begin(), scanned_.end());
  }
  std::vector<Row> rows;
  double part = 0, all = 0;
  for (const Row i : scanned_) rows.push_back(rows_[i]), part += weight_[i];
  for (std::size_t i = 0; i < n_fit_; ++i) all += weight_[i];
  scan_scale_ = all / part;
  scanner_.set_rows(rows);
}

void Path::set_residuals() {
  const std::size_t n = scanned_.size(), stride = padded(n), channels = std::min(n_channels_, kMaxGradients);
  probability_.assign(n_channels_ * stride, 0.0f);
  for (std::size_t c = 0; c < n_channels_; ++c)
    for (std::size_t i = 0; i < n; ++i) probability_[c * stride + i] = score_[c * n_path_ + scanned_[i]];
  kernels().probabilities(probability_.data(), n_channels_, stride, stride);
  std::vector<double> projection;
  if (n_channels_ > channels) {
    const double length = 1 / std::sqrt(static_cast<double>(channels));
    for (std::size_t k = 0; k < n_channels_ * channels; ++k)
      projection.push_back(mix(draw(1) ^ k) & 1 ? length : -length);
  }
  std::vector<float> gradient(n * channels), hessian(n);
  std::vector<double> mean(channels, 0.0), own(channels);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Row r = scanned_[i];
    const double w = weight_[r];
    hessian[i] = static_cast<float>(w * (spread_of(probability_.data(), i, stride, n_channels_) + 1e-6));
    const auto residual = [&](std::size_t c) { return is_class(r, c) - static_cast<double>(probability_[c * stride + i]); };
    if (projection.empty()) {
      for (std::size_t c = 0; c < channels; ++c) own[c] = residual(c);
    } else {
      std::fill(own.begin(), own.end(), 0.0);
      for (std::size_t k = 0; k < n_channels_; ++k)
        for (std::size_t c = 0; c < channels; ++c) own[c] += residual(k) * projection[k * channels + c];
    }
    for (std::size_t c = 0; c < channels; ++c) {
      gradient[i * channels + c] = static_cast<float>(w * own[c]);
      mean[c] += w * own[c];
    }
    total += w;
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < channels; ++c)
      gradient[i * channels + c] -= static_cast<float>(static_cast<double>(weight_[scanned_[i]]) * mean[c] / total);
  GainTerms terms;
  terms.scale = scan_scale_;
  const double unit = n_classes_ == 2 ? 2.0 : 1.0;  // the residuals of the other class are the same
  scanner_.set_residuals(gradient, channels, hessian, unit, n_classes_, terms);
}

// Full ramps, single categories or words, those first that alone gain most over the prior.
void Path::add_linear() {
  std::vector<Condition> conditions;
  for (const Feature& f : grid_.features)
    for (Condition& own : single_conditions(f))
      if (sign_with(0, own) != kNever) conditions.push_back(std::move(own));
  std::vector<double> gain(conditions.size());
  const std::size_t n = std::min(n_fit_, kMaxScanRows), chunk = 64;
  const std::vector<Row> rows(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(n));
  std::vector<double> prior(static_cast<std::size_t>(n_classes_), 0.0);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) prior[static_cast<std::size_t>(label_[i])] += weight_[i], total += weight_[i];
  double spread = 0;  // h of every row, without any rule
  // Of single words the ridge takes care: of 200 classes none has the rows that a concept of few classes would need.
  const int n_shared = options_.single_words ? 1 : std::max(1, n_classes_ - 1);
  for (const double p : prior) spread += p / total * (1 - p / total) / n_shared;
  pool_.run((conditions.size() + chunk - 1) / chunk, conditions.size() * n > 10 * kWorthSharing, [&](std::size_t task) {
    std::vector<float> phi(n);
    std::vector<double> sum(prior.size());
    for (std::size_t k = task * chunk; k < std::min((task + 1) * chunk, conditions.size()); ++k) {
      std::fill(phi.begin(), phi.end(), 1.0f);
      multiply_membership(sample_, conditions[k], rows, phi.data());
      const FiringMoments moments = firing_moments(phi.data(), weight_.data(), n);
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::size_t i = 0; i < n; ++i)
        sum[static_cast<std::size_t>(label_[i])] +=
            static_cast<double>(weight_[i]) * (static_cast<double>(phi[i]) - moments.mean);
      gain[k] = 0;
      for (const double s : sum) gain[k] += s * s / (total * moments.deviation * moments.deviation);
      if (conditions[k].share * (1 - conditions[k].share) * total * spread < GainTerms{}.least_weight) gain[k] = -1;
    }
  });
  std::vector<std::size_t> order(conditions.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gain[a] > gain[b]; });
  const std::size_t most = options_.max_conditions == 1 ? kLinearCurves : kLinearRules;
  for (std::size_t k = 0; k < std::min(order.size(), most); ++k) {
    const Condition& condition = conditions[order[k]];
    if (gain[order[k]] < 0) break;
    append({condition}, sign_with(0, condition));
  }
  n_linear_ = rules_.size();
  weights_.v.assign(rules_.size() * n_channels_, 0.0);
  correct();
}

double Path::correlation(std::size_t a, std::size_t b) const {
  const float *x = firing_[a].data(), *y = firing_[b].data();
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < n_path_; ++i) {
    sum += static_cast<double>(weight_[i]) * (static_cast<double>(x[i]) - path_moments_[a].mean) *
           (static_cast<double>(y[i]) - path_moments_[b].mean);
    total += weight_[i];
  }
  return sum / (total * path_moments_[a].deviation * path_moments_[b].deviation);
}

bool Path::step() {
  if (n_steps_ % kRefitEvery == 0 || scanned_.empty()) draw_rows();
  set_residuals();
  const std::vector<Candidate> found = search();
  ++n_steps_;
  const auto is_known = [&](const Rule& rule) {
    return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& own) { return same_rule(own, rule); });
  };
  const auto first = std::find_if(found.begin(), found.end(), [&](const Candidate& own) {
    return own.gain > 0 && !is_known(own.rule);
  });
  if (first == found.end()) return false;
  join(first->rule, first->sign);
  if (rules_.size() < kPairsAfter || rules_.size() >= target_) return true;
  for (auto other = first + 1; other != found.end(); ++other) {
    if (other->gain <= kLeastOfBest * first->gain || same_columns(other->rule, first->rule) || is_known(other->rule))
      continue;
    append(other->rule, other->sign);
    const bool is_different = std::fabs(correlation(rules_.size() - 1, rules_.size() - 2)) < kMostCorrelation;
    if (is_different) {
      weigh_last();
      break;
    }
    firing_.pop_back(), moments_.pop_back(), path_moments_.pop_back(), rules_.pop_back(), sign_.pop_back();
    if (is_packed_) packed_.pop_back();
  }
  return true;
}

void Path::keep_rules_alone() {
  free_memory(firing_, packed_, score_, probability_);
  scanner_.set_rows({});
}

// Rules of the path that is followed, up to n in all, without a weight yet.
void Path::take_over(std::size_t n) {
  const std::size_t first = rules_.size();
  for (std::size_t k = first; k < std::min(n, followed_->size()); ++k) {
    rules_.push_back(followed_->rules_[k]);
    sign_.push_back(followed_->sign_[k]);
  }
  fire_from(first);
  weights_.v.resize(rules_.size() * n_channels_, 0.0);
}

void Path::grow_to(std::size_t n) {
  target_ = n;
  if (grid_.features.empty() || n_classes_ < 2) return;
  if (followed_) take_over(n);
  // Refits cost rules times classes, steps do not: with many of them fewer refits.
  while (rules_.size() < n && step()) {
    const std::size_t refit_every = std::max({kRefitEvery, rules_.size() / 12, n_channels_ / 16});
    if (rules_.size() - n_corrected_ >= refit_every || rules_.size() <= 5) correct();
  }
  if (n_corrected_ != rules_.size()) correct();
}

}  // namespace ferl::rules
