// The rules that may join a path: conditions that gain most by themselves, and what gains most beside them.
#include <algorithm>
#include <iterator>

#include "rules/path.h"

namespace ferl::rules {

namespace {

// More of them are no better: with 4 and 3, log-loss on calibration parts is 0.3221, with these 0.3202, in 0.88 of the time.
constexpr std::size_t kBeam = 3;            // best features that rules of several conditions begin with
constexpr std::size_t kRandomStarts = 2;    // and conditions drawn at random
constexpr double kMostWork = 2e5;           // of most scans: features that gain little are left out
constexpr std::size_t kMinActive = 200;     // but not so many

// The features that gain most, the first of equals first.
std::vector<std::size_t> best_features(const std::vector<Found>& found, std::size_t n_best, bool up) {
  const auto gain = [&](std::size_t f) { return up ? found[f].up.gain : found[f].down.gain; };
  std::vector<std::size_t> order;
  for (std::size_t f = 0; f < found.size(); ++f)
    if (gain(f) > 0) order.push_back(f);
  const std::size_t n = std::min(n_best, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                    [&](std::size_t a, std::size_t b) { return gain(a) != gain(b) ? gain(a) > gain(b) : a < b; });
  order.resize(n);
  return order;
}

}  // namespace

void Path::extend(const Candidate& from, std::size_t n_best, std::vector<Candidate>& out) {
  std::vector<float> base(scanner_.n_rows(), 1.0f);
  for (const Condition& condition : from.rule) multiply_membership(sample_, condition, scanner_.rows(), base.data());
  std::vector<std::size_t> features;
  for (const std::size_t f : active_)
    if (!asks(from.rule, grid_.features[f].column)) features.push_back(f);
  const std::vector<Found> found = scanner_.scan(base, from.sign, features, n_best, pool_);
  for (const bool up : {true, false})
    for (const std::size_t f : best_features(found, n_best, up)) {
      Rule rule = from.rule;
      rule.push_back(condition_of(grid_.features[f], found[f], up));
      const int sign = sign_with(from.sign, rule.back());
      out.push_back({up ? found[f].up.gain : found[f].down.gain, std::move(rule), sign});
    }
}

// The best condition of each feature. Where that is too much work, most scans leave out features that gained little in
// the last one of all features.
std::vector<Found> Path::scan_features() {
  const double work = static_cast<double>(scanner_.n_rows() * std::min(n_channels_, kMaxGradients) + 400);
  const std::size_t n_active = std::max(kMinActive, static_cast<std::size_t>(kMostWork / work));
  if (features_.size() <= n_active) return scanner_.scan({}, 0, features_, kBeam, pool_);
  if (n_steps_ % kRefitEvery != 0) return scanner_.scan({}, 0, active_, kBeam, pool_);
  std::vector<Found> found = scanner_.scan({}, 0, features_, n_active, pool_);
  active_ = best_features(found, n_active, true);
  std::sort(active_.begin(), active_.end());
  return found;
}

// Single conditions that rules begin with: the best of the best features, complements of some, and some at random.
std::vector<Path::Candidate> Path::beginnings(const std::vector<Found>& found) const {
  std::vector<Candidate> out;
  const auto add = [&](double gain, Condition condition) {
    const int sign = sign_with(0, condition);
    if (sign != kNever) out.push_back({gain, {std::move(condition)}, sign});
  };
  const std::vector<std::size_t> best = best_features(found, kBeam, true);
  for (const std::size_t f : best) add(found[f].up.gain, condition_of(grid_.features[f], found[f], true));
  for (std::size_t k = 0; k < std::min(kBeam / 2, best.size()); ++k)
    if (!grid_.features[best[k]].has_words()) add(0, complement(out[k].rule[0]));
  for (std::size_t k = 0; k < kRandomStarts && !active_.empty(); ++k) {
    const Feature& f = grid_.features[active_[draw(2 + 4 * k) % active_.size()]];
    Condition condition;
    if (f.has_words()) {
      add(0, f.words[draw(3 + 4 * k) % f.words.size()].condition);
      continue;
    }
    if (f.is_categorical()) {
      const std::size_t category = draw(3 + 4 * k) % f.category_share.size();
      if (!(f.category_share[category] > 0)) continue;
      condition = single_category(f, category);
    } else {
      const std::size_t n = f.knots.size(), a = draw(3 + 4 * k) % n, b = (a + 1 + draw(4 + 4 * k) % (n - 1)) % n;
      condition = ramp(f, std::min(a, b), std::max(a, b));
    }
    add(0, draw(5 + 4 * k) & 1 ? complement(condition) : condition);
  }
  return out;
}

// Candidates, the best first: gain less tau for each condition.
std::vector<Path::Candidate> Path::search() {
  const std::vector<Candidate> singles = beginnings(scan_features());
  std::vector<Candidate> all;
  const auto take_first = [&](const std::vector<Candidate>& from, std::size_t n) {
    for (std::size_t k = 0; k < std::min(n, from.size()); ++k)
      if (from[k].gain > 0) all.push_back(from[k]);
  };
  const bool is_worth = scanner_.n_rows() * active_.size() * n_channels_ > kWorthSharing;
  const auto extended = [&](const std::vector<Candidate>& from, std::size_t n, std::size_t n_best) {
    std::vector<std::vector<Candidate>> found(std::min(n, from.size()));
    pool_.run(found.size(), is_worth, [&](std::size_t k) { extend(from[k], n_best, found[k]); });
    std::vector<Candidate> out;
    for (auto& own : found) std::move(own.begin(), own.end(), std::back_inserter(out));
    std::stable_sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) { return a.gain > b.gain; });
    return out;
  };
  take_first(singles, 3);
  if (options_.max_conditions > 1) {
    const std::vector<Candidate> pairs = extended(singles, singles.size(), 2);
    take_first(pairs, 4);
    if (options_.max_conditions > 2) take_first(extended(pairs, kBeam / 2, 1), kBeam);
  }
  const double tau = options_.start.tau;
  const auto worth = [&](const Candidate& own) { return own.gain - tau * static_cast<double>(own.rule.size()); };
  std::stable_sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) { return worth(a) > worth(b); });
  return all;
}

}  // namespace ferl::rules
