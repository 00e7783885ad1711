#include "rules/refit.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "rules/cholesky.h"

namespace ferl::rules {

namespace {

constexpr std::size_t kPiece = 8 * kBlock;  // rows a task: fixed, so that sums do not depend on the threads
constexpr double kLeastDeviation = 1e-6;    // the least divisor of a firing, for a rule that never fires
constexpr double kLeastCurvature = 1e-12;   // along a step that is remembered, which is divided by it

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

Weights scaled(Weights weights, double by) {
  for (double& own : weights.v) own *= by;
  for (double& own : weights.b) own *= by;
  return weights;
}

FiringMoments firing_moments(const float* firing, const float* weight, std::size_t n) {
  double sum = 0, total = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double w = weight[i], phi = firing[i];
    total += w;
    sum += w * phi;
    squares += w * phi * phi;
  }
  const double mean = sum / total;
  return {mean, std::max(std::sqrt(std::max(squares / total - mean * mean, 0.0)), kLeastDeviation)};
}

std::vector<double> per_class(const std::vector<double>& v, int n_classes) {
  std::vector<double> out;
  if (n_classes == 1) return std::vector<double>(v.size(), 0.0);
  if (n_classes == 2) {
    for (const double own : v) out.insert(out.end(), {-0.5 * own, 0.5 * own});
    return out;
  }
  const auto c = static_cast<std::size_t>(n_classes);
  for (std::size_t first = 0; first < v.size(); first += c) {
    const auto from = v.begin() + static_cast<std::ptrdiff_t>(first), to = from + n_classes;
    const double mean = std::accumulate(from, to, 0.0) / n_classes;
    for (auto own = from; own != to; ++own) out.push_back(*own - mean);
  }
  return out;
}

namespace {

// The firings of rules on some rows, at most kBlock at a time, whether they are packed or not.
class Firings {
 public:
  // Firings of the rows before `end`; if these are packed, blocks begin at multiples of kBlock.
  Firings(const std::vector<RuleColumn>& rules, std::size_t end)
      : rules_(rules), is_packed_(!rules.empty() && end > rules[0].n_plain) {
    for (const RuleColumn& rule : rules) firing_.push_back(rule.firing);
    if (!is_packed_) return;
    thread_local AlignedVector<float> scratch;
    if (scratch.size() < rules.size() * kBlock) scratch.resize(rules.size() * kBlock);
    unpacked_ = scratch.data();
    for (std::size_t k = 0; k < rules.size(); ++k) firing_[k] = unpacked_ + k * kBlock;
  }

  // Makes rows from `first` on readable, and returns where they begin in what data() points to.
  std::size_t read(std::size_t first, std::size_t n) {
    if (!is_packed_) return first;
    for (std::size_t k = 0; k < rules_.size(); ++k) rules_[k].packed->unpack(first, n, unpacked_ + k * kBlock);
    return 0;
  }
  const float* const* data() const { return firing_.data(); }

 private:
  const std::vector<RuleColumn>& rules_;
  bool is_packed_;
  std::vector<const float*> firing_;
  float* unpacked_ = nullptr;
};

}  // namespace

void score_rows(const std::vector<RuleColumn>& rules, const Weights& weights, std::size_t n_channels, std::size_t first,
                std::size_t n, float* out) {
  Firings firings(rules, first + n);
  const std::vector<float> v(weights.v.begin(), weights.v.end()), b(weights.b.begin(), weights.b.end());
  AlignedVector<float> block(n_channels * kBlock);
  for (std::size_t from = 0; from < n; from += kBlock) {
    const std::size_t size = std::min(kBlock, n - from);
    const std::size_t at = firings.read(first + from, size);
    kernels().scores(firings.data(), rules.size(), n_channels, v.data(), b.data(), at, size, block.data());
    for (std::size_t c = 0; c < n_channels; ++c) std::copy_n(block.data() + c * kBlock, size, out + c * n + from);
  }
}

std::vector<float> probabilities(const std::vector<RuleColumn>& rules, const Weights& weights, std::size_t n_channels,
                                 std::size_t first, std::size_t n) {
  std::vector<float> out(n_channels * n);
  score_rows(rules, weights, n_channels, first, n, out.data());
  kernels().probabilities(out.data(), n_channels, n, n);
  return out;
}

double spread_of(const float* p, std::size_t i, std::size_t n, std::size_t n_channels) {
  double sum = 0;
  for (std::size_t c = 0; c < n_channels; ++c) {
    const double own = p[c * n + i];
    sum += own * (1 - own);
  }
  return n_channels == 1 ? 2 * sum : sum / static_cast<double>(n_channels - 1);
}

Refit::Refit(const FitRows& rows, std::vector<RuleColumn> rules, ThreadPool& pool, const Tuning& tuning)
    : rows_(rows), rules_(std::move(rules)), pool_(pool), tuning_(tuning), n_rules_(rules_.size()),
      n_channels_(n_channels(rows.n_classes)) {
  ones_.assign(kBlock, 1.0f);
}

double Refit::ridge(std::size_t k) const {
  // One score stands for two weights of half its size.
  const double own =
      k == 0 ? tuning_.intercept_ridge : std::min(ridge_, rules_[k - 1].max_ridge) * rules_[k - 1].ridge_share;
  return own * (n_channels_ == 1 ? 0.5 : 1.0);
}

// The weights of standardised firings, [1 + rule][channel], the constant first.
std::vector<double> Refit::standardised(const Weights& weights) const {
  const std::size_t e = n_channels_;
  std::vector<double> w((1 + n_rules_) * e);
  std::copy(weights.b.begin(), weights.b.end(), w.begin());
  for (std::size_t k = 0; k < n_rules_; ++k)
    for (std::size_t c = 0; c < e; ++c) {
      w[(1 + k) * e + c] = weights.v[k * e + c] * rules_[k].moments.deviation;
      w[c] += weights.v[k * e + c] * rules_[k].moments.mean;
    }
  return w;
}

void Refit::restore(const std::vector<double>& w, Weights& weights) const {
  const std::size_t e = n_channels_;
  weights.v.resize(n_rules_ * e);
  weights.b.assign(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(e));
  for (std::size_t k = 0; k < n_rules_; ++k)
    for (std::size_t c = 0; c < e; ++c) {
      weights.v[k * e + c] = w[(1 + k) * e + c] / rules_[k].moments.deviation;
      weights.b[c] -= weights.v[k * e + c] * rules_[k].moments.mean;
    }
}

// Onto the scores [channel][stride] of n rows.
void Refit::add_offset(float* score, std::size_t stride, std::size_t first, std::size_t n) const {
  if (!rows_.offset) return;
  for (std::size_t c = 0; c < n_channels_; ++c)
    for (std::size_t i = 0; i < n; ++i) score[c * stride + i] += rows_.offset[c * rows_.n + first + i];
}

// The loss of all rows, and its slopes in the weights.
void Refit::sum_rows(const std::vector<float>& v, const std::vector<float>& b) {
  if (v == last_.v && b == last_.b) return;
  const std::size_t e = n_channels_, size = (1 + n_rules_) * e;
  const float* const ones = ones_.data();
  const std::size_t n_pieces = (rows_.n + kPiece - 1) / kPiece;
  std::vector<double> sums(n_pieces * (size + 1), 0.0);  // of each piece: the loss, then the slopes
  pool_.run(n_pieces, rows_.n * size > tuning_.share_refit, [&](std::size_t piece) {
    thread_local AlignedVector<float> score;
    if (score.size() < e * kBlock) score.resize(e * kBlock);
    double* sum = sums.data() + piece * (size + 1);
    Firings firings(rules_, rows_.n);
    for (std::size_t first = piece * kPiece; first < std::min((piece + 1) * kPiece, rows_.n); first += kBlock) {
      const std::size_t n = std::min(kBlock, rows_.n - first);
      const std::size_t at = firings.read(first, n);
      kernels().scores(firings.data(), n_rules_, e, v.data(), b.data(), at, n, score.data());
      add_offset(score.data(), kBlock, first, n);
      const Label* label = rows_.label ? rows_.label + first : nullptr;
      const float* target = rows_.target ? rows_.target + first : nullptr;
      sum[0] += kernels().residuals(score.data(), e, n, rows_.weight + first, label, target, rows_.n);
      kernels().products(&ones, 1, e, 0, n, score.data(), sum + 1);
      kernels().products(firings.data(), n_rules_, e, at, n, score.data(), sum + 1 + e);
    }
  });
  last_ = {v, b, std::vector<double>(size + 1, 0.0)};
  for (std::size_t piece = 0; piece < n_pieces; ++piece)
    for (std::size_t k = 0; k <= size; ++k) last_.sums[k] += sums[piece * (size + 1) + k];
}

double Refit::evaluate(const std::vector<double>& w, std::vector<double>& gradient) {
  const std::size_t e = n_channels_;
  Weights weights;
  restore(w, weights);
  sum_rows({weights.v.begin(), weights.v.end()}, {weights.b.begin(), weights.b.end()});
  double value = last_.sums[0];
  gradient.assign(last_.sums.begin() + 1, last_.sums.end());
  for (std::size_t k = 0; k <= n_rules_; ++k)
    for (std::size_t c = 0; c < e; ++c) {
      double& g = gradient[k * e + c];
      if (k > 0) g = (g - rules_[k - 1].moments.mean * gradient[c]) / rules_[k - 1].moments.deviation;
    }
  for (std::size_t k = 0; k <= n_rules_; ++k)
    for (std::size_t c = 0; c < e; ++c) {
      gradient[k * e + c] += ridge(k) * w[k * e + c];
      value += 0.5 * ridge(k) * w[k * e + c] * w[k * e + c];
    }
  return value;
}

namespace {

std::size_t curvature_rows(std::size_t n, std::size_t n_rules, const Tuning& tuning) {
  const std::size_t least =
      std::clamp(padded(tuning.curvature_rows_per_rule * n_rules), tuning.curvature_rows, tuning.most_curvature_rows);
  return std::min(n, growing(n, tuning.curvature_share, least, tuning.most_curvature_rows, tuning));
}

}  // namespace

const std::vector<double>& Refit::curvature(const Weights& weights) {
  const std::size_t size = 1 + n_rules_, e = n_channels_, n = curvature_rows(rows_.n, n_rules_, tuning_);
  std::vector<float> p(e * n), h(n);
  score_rows(rules_, weights, e, 0, n, p.data());
  add_offset(p.data(), n, 0, n);
  kernels().probabilities(p.data(), e, n, n);
  const double unit = e == 1 ? 0.5 : 1.0;  // one score stands for two
  double used = 0, all = 0;
  for (std::size_t i = 0; i < n; ++i) {
    h[i] = static_cast<float>(rows_.weight[i] * (spread_of(p.data(), i, n, e) * unit + tuning_.least_spread));
    used += rows_.weight[i];
  }
  for (std::size_t i = 0; i < rows_.n; ++i) all += rows_.weight[i];
  // Products of the firings, h among them, tile by tile below the diagonal.
  constexpr std::size_t kTile = 32;
  std::vector<const float*> columns{nullptr};
  const AlignedVector<float> ones(n, 1.0f);
  columns[0] = ones.data();
  for (const RuleColumn& rule : rules_) columns.push_back(rule.firing);
  std::vector<double> a(size * size, 0.0);
  pool_.run((size + kTile - 1) / kTile, n * size > tuning_.share_refit, [&](std::size_t task) {
    AlignedVector<float> weighted(kTile * kBlock);
    const std::size_t from = task * kTile, width = std::min(kTile, size - from);
    std::vector<double> tile((size - from) * width, 0.0);
    for (std::size_t first = 0; first < n; first += kBlock) {
      const std::size_t rows = std::min(kBlock, n - first);
      for (std::size_t l = 0; l < width; ++l)
        for (std::size_t i = 0; i < rows; ++i) weighted[l * kBlock + i] = columns[from + l][first + i] * h[first + i];
      kernels().products(columns.data() + from, size - from, width, first, rows, weighted.data(), tile.data());
    }
    for (std::size_t k = from; k < size; ++k)
      for (std::size_t l = 0; l < width; ++l) a[k * size + from + l] = tile[(k - from) * width + l];
  });
  const double scale = all / used, sum_h = a[0];
  std::vector<double> s(size);
  for (std::size_t k = 0; k < size; ++k) s[k] = a[k * size];
  const auto mean = [&](std::size_t k) { return k == 0 ? 0.0 : rules_[k - 1].moments.mean; };
  const auto deviation = [&](std::size_t k) { return k == 0 ? 1.0 : rules_[k - 1].moments.deviation; };
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t l = 0; l <= k; ++l) {
      const double own = a[k * size + l] - mean(k) * s[l] - mean(l) * s[k] + mean(k) * mean(l) * sum_h;
      a[k * size + l] = a[l * size + k] = scale * own / (deviation(k) * deviation(l));
    }
  curvature_ = std::move(a);
  return curvature_;
}

// Halves the step until the objective falls enough. Does not move if the objective no longer falls.
double Refit::search(const std::vector<double>& direction, double slope, std::vector<double>& w,
                     std::vector<double>& new_gradient, double value, bool& moved) {
  std::vector<double> trial(w.size());
  double step = 1;
  for (int halving = 0; halving < tuning_.most_halvings; ++halving, step *= 0.5) {
    for (std::size_t k = 0; k < w.size(); ++k) trial[k] = w[k] + step * direction[k];
    const double now = evaluate(trial, new_gradient);
    if (now <= value + tuning_.armijo * step * slope) {
      w = std::move(trial);
      moved = true;
      return now;
    }
  }
  moved = false;
  return value;
}

// L-BFGS in the metric of the normal matrix.
double Refit::fit_free(const RefitOptions& options, std::vector<double>& w) {
  const std::size_t size = 1 + n_rules_, e = n_channels_;
  std::vector<double> l = curvature_;
  for (std::size_t k = 0; k < size; ++k) l[k * size + k] += ridge(k);
  const Cholesky metric(l, size);
  std::vector<double> gradient, next, direction;
  struct Memory {
    std::vector<double> step, change;
    double rho;
  };
  std::deque<Memory> memory;
  double value = evaluate(w, gradient);
  for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
    direction = gradient;
    std::vector<double> alpha(memory.size());
    for (std::size_t k = memory.size(); k-- > 0;) {
      alpha[k] = memory[k].rho * dot(memory[k].step, direction);
      for (std::size_t i = 0; i < direction.size(); ++i) direction[i] -= alpha[k] * memory[k].change[i];
    }
    metric.solve(direction.data(), e);
    for (std::size_t k = 0; k < memory.size(); ++k) {
      const double beta = memory[k].rho * dot(memory[k].change, direction);
      for (std::size_t i = 0; i < direction.size(); ++i) direction[i] += (alpha[k] - beta) * memory[k].step[i];
    }
    for (double& d : direction) d = -d;
    const double slope = dot(direction, gradient);
    // Not a number: weights so unequal that rounding leaves no inverse of the normal matrix.
    if (!(-0.5 * slope >= options.tolerance * value)) break;
    const std::vector<double> before = w;
    bool moved = false;
    value = search(direction, slope, w, next, value, moved);
    if (!moved) break;
    Memory made{w, next, 0};
    for (std::size_t i = 0; i < w.size(); ++i) made.step[i] -= before[i], made.change[i] -= gradient[i];
    gradient.swap(next);
    if (const double curved = dot(made.step, made.change); curved > kLeastCurvature) {
      made.rho = 1 / curved;
      memory.push_back(std::move(made));
      if (memory.size() > tuning_.memory) memory.pop_front();
    }
  }
  return value;
}

// Newton steps whose quadratic problem is solved with the signs kept, coordinate by coordinate.
double Refit::fit_bounded(const RefitOptions& options, std::vector<double>& w) {
  const std::size_t size = 1 + n_rules_;
  std::vector<double> a = curvature_;
  for (std::size_t k = 0; k < size; ++k) a[k * size + k] += ridge(k);
  const auto bounded = [&](std::size_t k, double value) {
    const int sign = k == 0 ? 0 : rules_[k - 1].sign;
    return sign > 0 ? std::max(value, 0.0) : sign < 0 ? std::min(value, 0.0) : value;
  };
  for (std::size_t k = 0; k < size; ++k) w[k] = bounded(k, w[k]);
  std::vector<double> gradient, next;
  double value = evaluate(w, gradient);
  for (int iteration = 0; iteration < 2 * options.max_iterations; ++iteration) {
    std::vector<double> direction(size, 0.0), slope = gradient;  // slope: of the quadratic model at w + direction
    for (int sweep = 0; sweep < tuning_.bounded_sweeps; ++sweep) {
      double most = 0;
      for (std::size_t k = 0; k < size; ++k) {
        const double at = w[k] + direction[k], change = bounded(k, at - slope[k] / a[k * size + k]) - at;
        if (change == 0) continue;
        direction[k] += change;
        for (std::size_t l = 0; l < size; ++l) slope[l] += change * a[k * size + l];
        most = std::max(most, change * change * a[k * size + k]);
      }
      if (most < tuning_.bounded_tolerance * options.tolerance * value) break;
    }
    const double along = dot(direction, gradient);
    if (!(-0.5 * along >= options.tolerance * value)) break;
    bool moved = false;
    value = search(direction, along, w, next, value, moved);
    if (!moved) break;
    gradient.swap(next);
  }
  return value;
}

double Refit::fit(const RefitOptions& options, Weights& weights) {
  ridge_ = options.ridge;
  if (curvature_.empty()) curvature(weights);
  std::vector<double> w = standardised(weights);
  const bool is_bounded =
      std::any_of(rules_.begin(), rules_.end(), [](const RuleColumn& own) { return own.sign != 0; });
  const double value = is_bounded ? fit_bounded(options, w) : fit_free(options, w);
  restore(w, weights);
  return value;
}

}  // namespace ferl::rules
