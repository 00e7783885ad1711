#include "rules/search.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace ferl::rules {

namespace {

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

// A condition at random: a word, a category or a ramp of an active feature.
Condition random_condition(const Feature& f, std::size_t k, const Dice& dice) {
  if (f.has_words()) return f.words[dice(3 + 4 * k) % f.words.size()].condition;
  Condition condition;
  if (f.is_categorical()) {
    const std::size_t category = dice(3 + 4 * k) % f.category_share.size();
    if (!(f.category_share[category] > 0)) return {};
    condition = single_category(f, category);
  } else {
    const std::size_t n = f.knots.size(), a = dice(3 + 4 * k) % n, b = (a + 1 + dice(4 + 4 * k) % (n - 1)) % n;
    condition = ramp(f, std::min(a, b), std::max(a, b));
  }
  return dice(5 + 4 * k) & 1 ? complement(condition) : condition;
}

// Single conditions that rules begin with: the best of the best features, complements of some, and some at random.
std::vector<Candidate> beginnings(const Task& task, const FeatureScan& scan, const Dice& dice) {
  const auto& features = task.grid.features;
  std::vector<Candidate> out;
  const auto add = [&](double gain, Condition condition) {
    const int sign = sign_with(task, 0, condition);
    if (sign != kNever) out.push_back({gain, {std::move(condition)}, sign});
  };
  const std::size_t beam = task.tuning.beam;
  const std::vector<std::size_t> best = best_features(scan.found, beam, true);
  for (const std::size_t f : best) add(scan.found[f].up.gain, condition_of(features[f], scan.found[f], true));
  for (std::size_t k = 0; k < std::min(beam / 2, best.size()); ++k)
    if (!features[best[k]].has_words()) add(0, complement(out[k].rule[0]));
  for (std::size_t k = 0; k < task.tuning.random_starts && !scan.active.empty(); ++k) {
    const Feature& f = features[scan.active[dice(2 + 4 * k) % scan.active.size()]];
    Condition condition = random_condition(f, k, dice);
    if (condition.column >= 0) add(0, std::move(condition));
  }
  return out;
}

// What gains most with one more condition.
std::vector<Candidate> extended(const Task& task, const Scanner& scanner, const std::vector<std::size_t>& active,
                                const Candidate& from, std::size_t n_best) {
  const auto& all = task.grid.features;
  std::vector<float> base(scanner.n_rows(), 1.0f);
  for (const Condition& condition : from.rule) multiply_membership(task.sample, condition, scanner.rows(), base.data());
  std::vector<std::size_t> features;
  for (const std::size_t f : active)
    if (!asks(from.rule, all[f].column)) features.push_back(f);
  const std::vector<Found> found = scanner.scan(base, from.sign, features, n_best, task.pool);
  std::vector<Candidate> out;
  for (const bool up : {true, false})
    for (const std::size_t f : best_features(found, n_best, up)) {
      Rule rule = from.rule;
      rule.push_back(condition_of(all[f], found[f], up));
      const int sign = sign_with(task, from.sign, rule.back());
      out.push_back({up ? found[f].up.gain : found[f].down.gain, std::move(rule), sign});
    }
  return out;
}

}  // namespace

int sign_with(const Task& task, int sign, const Condition& condition) {
  if (task.monotone.empty()) return 0;
  const int monotone = task.monotone[static_cast<std::size_t>(condition.column)];
  if (monotone == 0) return sign;
  const int own = monotone * direction(condition);
  return own != 0 && (sign == 0 || sign == own) ? own : kNever;
}

FeatureScan scan_features(const Task& task, const Scanner& scanner, std::vector<std::size_t> active,
                          bool all_features) {
  const Tuning& tuning = task.tuning;
  const double work =
      static_cast<double>(scanner.n_rows() * std::min(task.n_channels(), kMaxGradients)) + tuning.feature_work;
  const std::size_t n_active = std::max(tuning.min_active, static_cast<std::size_t>(tuning.most_active_work / work));
  const bool is_cheap = task.grid.features.size() <= n_active;
  if (!is_cheap && !all_features) {
    std::vector<Found> found = scanner.scan({}, 0, active, tuning.beam, task.pool);
    return {std::move(found), std::move(active)};
  }
  std::vector<std::size_t> features(task.grid.features.size());
  std::iota(features.begin(), features.end(), 0);
  std::vector<Found> found = scanner.scan({}, 0, features, is_cheap ? tuning.beam : n_active, task.pool);
  if (!is_cheap) {
    features = best_features(found, n_active, true);
    std::sort(features.begin(), features.end());
  }
  return {std::move(found), std::move(features)};
}

std::vector<Candidate> search(const Task& task, const Scanner& scanner, const FeatureScan& scan, double tau,
                              const Dice& dice) {
  const Tuning& tuning = task.tuning;
  const std::vector<Candidate> singles = beginnings(task, scan, dice);
  std::vector<Candidate> all;
  const auto take_first = [&](const std::vector<Candidate>& from, std::size_t n) {
    for (std::size_t k = 0; k < std::min(n, from.size()); ++k)
      if (from[k].gain > 0) all.push_back(from[k]);
  };
  const bool is_worth = scanner.n_rows() * scan.active.size() * task.n_channels() > tuning.share_search;
  const auto extend_first = [&](const std::vector<Candidate>& from, std::size_t n, std::size_t n_best) {
    std::vector<std::vector<Candidate>> found(std::min(n, from.size()));
    task.pool.run(found.size(), is_worth,
                  [&](std::size_t k) { found[k] = extended(task, scanner, scan.active, from[k], n_best); });
    std::vector<Candidate> out;
    for (auto& own : found) std::move(own.begin(), own.end(), std::back_inserter(out));
    std::stable_sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) { return a.gain > b.gain; });
    return out;
  };
  take_first(singles, tuning.single_candidates);
  if (task.max_conditions > 1) {
    const std::vector<Candidate> pairs = extend_first(singles, singles.size(), tuning.pair_extensions);
    take_first(pairs, tuning.pair_candidates);
    if (task.max_conditions > 2) take_first(extend_first(pairs, tuning.beam / 2, 1), tuning.beam);
  }
  const auto worth = [&](const Candidate& own) { return own.gain - tau * static_cast<double>(own.rule.size()); };
  std::stable_sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) { return worth(a) > worth(b); });
  return all;
}

}  // namespace ferl::rules
