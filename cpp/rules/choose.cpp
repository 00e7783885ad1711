#include "rules/choose.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>

namespace ferl::rules {

namespace {

constexpr double kNotTried = 1e300;  // loss of what was not tried

// The number of parts of the rows, and the number of parts that validate.
struct Folds {
  int n_parts, n_folds;
};

Folds folds_of(double weight, const Tuning& tuning) {
  if (weight < tuning.few_weight) return {tuning.parts_of_few, tuning.parts_of_few};
  if (weight < tuning.some_weight) return {tuning.parts_of_some, tuning.parts_of_some};
  return {tuning.parts_of_many, 1};
}

// Sizes to try: the number of linear rules, if any, and the larger sizes.
std::vector<std::size_t> sizes(std::size_t n_first, std::size_t max_rules, const Tuning& tuning) {
  std::vector<std::size_t> out;
  if (n_first > 0) out.push_back(n_first);
  for (const std::size_t size : tuning.sizes)
    if (size > n_first && size <= max_rules) out.push_back(size);
  for (std::size_t size = tuning.next_size; size <= max_rules; size += size / 2) out.push_back(size);
  if (out.empty()) out.push_back(max_rules);
  return out;
}

}  // namespace

std::vector<double> ridges(const Sample& sample, const Tuning& tuning) {
  std::vector<double> out = tuning.ridges;
  if (sample.n_rows > tuning.small_rows) out.insert(out.end(), tuning.more_ridges.begin(), tuning.more_ridges.end());
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

namespace {

std::size_t n_groups(const Sample& sample, std::size_t n_rows) {
  std::vector<double> own(sample.group.begin(), sample.group.begin() + static_cast<std::ptrdiff_t>(n_rows));
  std::sort(own.begin(), own.end());
  return static_cast<std::size_t>(std::unique(own.begin(), own.end()) - own.begin());
}

// The rows of a group. Heavier groups come first, by powers of two; otherwise the order is random and differs by turn.
struct Group {
  int magnitude;
  std::uint64_t key;
  std::vector<Row> rows;
};

std::vector<Group> groups_of(const Sample& sample, std::size_t n_rows, int turn) {
  std::vector<Row> order(n_rows);
  std::iota(order.begin(), order.end(), Row{0});
  std::stable_sort(order.begin(), order.end(), [&](Row a, Row b) { return sample.group[a] < sample.group[b]; });
  std::vector<Group> out;
  for (const Row i : order) {
    if (out.empty() || sample.group[out.back().rows.front()] != sample.group[i]) {
      const std::uint64_t turned = mix(static_cast<std::uint64_t>(turn));
      out.push_back({0, mix(value_bits(sample.group[i]) ^ turned), {}});
    }
    out.back().rows.push_back(i);
  }
  for (Group& own : out) {
    double weight = 0;
    for (const Row i : own.rows) weight += sample.weight[i];
    own.magnitude = std::ilogb(weight);
  }
  std::sort(out.begin(), out.end(), [](const Group& a, const Group& b) {
    return a.magnitude != b.magnitude ? a.magnitude > b.magnitude : a.key < b.key;
  });
  return out;
}

std::vector<int> grouped_parts(const Sample& sample, std::size_t n_rows, int parts, int turn) {
  const auto n_classes = static_cast<std::size_t>(sample.n_classes), n_parts = static_cast<std::size_t>(parts);
  std::vector<double> total(n_classes, 0.0), own(n_classes), all(n_parts, 0.0), held(n_parts * n_classes, 0.0);
  for (std::size_t i = 0; i < n_rows; ++i) total[static_cast<std::size_t>(sample.y[i])] += sample.weight[i];
  std::vector<int> part(n_rows);
  for (const Group& group : groups_of(sample, n_rows, turn)) {
    std::fill(own.begin(), own.end(), 0.0);
    for (const Row i : group.rows) own[static_cast<std::size_t>(sample.y[i])] += sample.weight[i];
    std::size_t best = 0;
    double least = 0;
    for (std::size_t p = 0; p < n_parts; ++p) {
      double cost = 0;
      for (std::size_t c = 0; c < n_classes; ++c)
        if (own[c] > 0) cost += own[c] / total[c] * held[p * n_classes + c];
      if (p == 0 || cost < least || (cost == least && all[p] < all[best])) best = p, least = cost;
    }
    for (std::size_t c = 0; c < n_classes; ++c) held[best * n_classes + c] += own[c], all[best] += own[c];
    for (const Row i : group.rows) part[i] = static_cast<int>(best);
  }
  return part;
}

}  // namespace

std::vector<int> stratified_parts(const Sample& sample, std::size_t n_rows, int parts, int turn) {
  if (!sample.group.empty()) return grouped_parts(sample, n_rows, parts, turn);
  // Classes begin where the last one ended, so that the rows of many small classes are spread over the parts.
  std::vector<int> part(n_rows);
  std::vector<std::vector<Row>> of_class(static_cast<std::size_t>(sample.n_classes));
  for (std::size_t i = 0; i < n_rows; ++i)
    of_class[static_cast<std::size_t>(sample.y[i])].push_back(static_cast<Row>(i));
  int dealt = 0;
  for (auto& rows : of_class) {
    if (turn > 0) {
      const auto other_key = [&](Row i) { return mix(sample.key[i] ^ mix(static_cast<std::uint64_t>(turn))); };
      std::sort(rows.begin(), rows.end(), [&](Row a, Row b) { return other_key(a) < other_key(b); });
    }
    for (const Row i : rows) part[i] = dealt++ % parts;
  }
  return part;
}

namespace {

// All paths of all starts and folds, grown from one size to the next together.
class InnerValidation {
 public:
  InnerValidation(const Task& task, std::size_t n_rows, int n_parts, int n_folds, std::uint64_t seed, int turn)
      : task_(task), tuning_(task.tuning), n_scales_(task.single_words ? tuning_.scales.size() : 1),
        starts_(starts(tuning_)), ridges_(ridges(task.sample, tuning_)), n_folds_(static_cast<std::size_t>(n_folds)),
        paths_(starts_.size() * n_folds_), refits_(paths_.size()), progress_(starts_.size()),
        linear_ridge_(ridges_.front()) {
    const auto part = stratified_parts(task.sample, n_rows, n_parts, turn);
    task_.pool.run(paths_.size(), true, [&](std::size_t p) {
      const std::size_t fold = p % n_folds_;
      std::vector<Row> fit, other;
      for (std::size_t i = 0; i < n_rows; ++i)
        (part[i] == static_cast<int>(fold) ? other : fit).push_back(static_cast<Row>(i));
      paths_[p] = std::make_unique<Path>(task_, fit, other, starts_[p / n_folds_], seed + fold);
    });
    for (std::size_t fold = 0; fold < n_folds_; ++fold) weight_ += paths_[fold]->validation_weight();
  }

  Choices run(std::size_t max_rules) {
    for (std::size_t s = 0; s < starts_.size(); ++s) {
      std::size_t first = 0;
      for (std::size_t fold = 0; fold < n_folds_; ++fold) first = std::max(first, paths_[s * n_folds_ + fold]->size());
      progress_[s].sizes = sizes(first, max_rules, tuning_);
    }
    while (true) {
      std::vector<std::size_t> open;
      for (std::size_t p = 0; p < paths_.size(); ++p)
        if (!progress_[p / n_folds_].is_done()) open.push_back(p);
      if (open.empty()) break;
      std::vector<Losses> losses(paths_.size());
      task_.pool.run(open.size(), true, [&](std::size_t k) { losses[open[k]] = grow(open[k]); });
      for (std::size_t s = 0; s < starts_.size(); ++s)
        if (!progress_[s].is_done()) judge(s, losses);
      give_up();
      for (std::size_t p = 0; p < paths_.size(); ++p)
        if (progress_[p / n_folds_].is_done()) paths_[p]->keep_rules_alone();
    }
    std::stable_sort(tried_.begin(), tried_.end(), [](const Choice& a, const Choice& b) { return a.loss < b.loss; });
    const std::size_t best = tried_.front().start;
    Choices out{std::move(tried_), linear_ridge_, {}, std::move(progress_[best].best_weights)};
    for (std::size_t fold = 0; fold < n_folds_; ++fold) out.paths.push_back(std::move(paths_[best * n_folds_ + fold]));
    return out;
  }

 private:
  using Losses = std::vector<std::vector<double>>;  // [ridge][scale]

  struct Progress {  // of a start
    std::vector<std::size_t> sizes;
    std::size_t at = 0;
    double best_loss = kNotTried;
    std::optional<std::size_t> best_ridge = {};  // of the last size; none yet
    int n_bad = 0;
    double least_loss = kNotTried;           // of all sizes
    std::vector<Weights> best_weights = {};  // [fold]: that had this loss
    bool is_done() const { return at == sizes.size(); }
    std::size_t size() const { return at == 0 ? 0 : sizes[at - 1]; }  // that was reached
    bool is_near(std::size_t ridge, std::size_t around) const {
      return !best_ridge || (ridge + around >= *best_ridge && ridge <= *best_ridge + around);
    }
  };

  bool has_many_classes() const { return task_.n_channels() > tuning_.many_classes; }

  // Ends starts that are far behind another one of no more rules.
  void give_up() {
    for (std::size_t s = 0; s < starts_.size(); ++s)
      for (const Choice& other : tried_)
        if (other.start != s && other.n_rules <= progress_[s].size() &&
            other.loss < tuning_.hopeless * progress_[s].best_loss)
          progress_[s].at = progress_[s].sizes.size();
  }

  // Grows a path to the next size, and tries the ridges on it.
  Losses grow(std::size_t p) {
    Progress& progress = progress_[p / n_folds_];
    Path& path = *paths_[p];
    path.grow_to(progress.sizes[progress.at]);
    Weights weights = path.weights();
    Refit refit = path.refit();
    Losses losses(ridges_.size(), std::vector<double>(n_scales_, kNotTried));
    refits_[p].resize(ridges_.size());
    double best = kNotTried;
    for (std::size_t r = 0; r < ridges_.size(); ++r) {
      if (!progress.is_near(r, tuning_.ridges_around)) continue;
      refit.fit({ridges_[r], tuning_.choice_iterations, tuning_.choice_tolerance}, weights);
      for (std::size_t s = 0; s < n_scales_; ++s)
        losses[r][s] = path.validation_loss(s == 0 ? weights : scaled(weights, tuning_.scales[s]));
      refits_[p][r] = weights;
      const double own = *std::min_element(losses[r].begin(), losses[r].end());
      if (own > (has_many_classes() ? tuning_.far_worse : tuning_.worse) * best) break;
      best = std::min(best, own);
    }
    return losses;
  }

  // Notes what the size that was just reached is worth, over all folds.
  void judge(std::size_t s, const std::vector<Losses>& losses) {
    Progress& own = progress_[s];
    Choice best{kNotTried, s, own.sizes[own.at], ridges_[0]};
    for (std::size_t r = 0; r < ridges_.size(); ++r) {
      Choice tried{kNotTried, s, own.sizes[own.at], ridges_[r]};
      for (std::size_t scale = 0; scale < n_scales_; ++scale) {
        double sum = 0;
        for (std::size_t fold = 0; fold < n_folds_; ++fold) sum += losses[s * n_folds_ + fold][r][scale];
        if (sum / weight_ < tried.loss && sum < kNotTried)
          tried.loss = sum / weight_, tried.scale = tuning_.scales[scale];
      }
      if (tried.loss >= kNotTried) continue;
      tried_.push_back(tried);
      if (tried_.back().loss < best.loss) best = tried_.back(), own.best_ridge = r;
    }
    if (best.loss < own.least_loss) {
      own.least_loss = best.loss;
      own.best_weights.clear();
      for (std::size_t fold = 0; fold < n_folds_; ++fold)
        own.best_weights.push_back(std::move(refits_[s * n_folds_ + fold][*own.best_ridge]));
    }
    if (own.at == 0 && starts_[s].linear) {
      linear_ridge_ = tuning_.linear_slack * best.ridge;
      for (std::size_t fold = 0; fold < n_folds_; ++fold) paths_[s * n_folds_ + fold]->set_linear_ridge(linear_ridge_);
    }
    if (has_many_classes() && best.loss > own.best_loss * tuning_.far_worse) own.n_bad = tuning_.patience;
    own.n_bad = best.loss < own.best_loss * tuning_.better ? 0 : own.n_bad + 1;
    if (own.n_bad == 0) own.best_loss = best.loss;
    ++own.at;
    if (own.n_bad >= tuning_.patience) own.at = own.sizes.size();
  }

  const Task& task_;
  const Tuning& tuning_;
  std::size_t n_scales_;
  std::vector<Start> starts_;
  std::vector<double> ridges_;
  std::size_t n_folds_;
  std::vector<std::unique_ptr<Path>> paths_;  // [start][fold]
  std::vector<std::vector<Weights>> refits_;  // [start][fold], [ridge]: of the last size
  std::vector<Progress> progress_;            // [start]
  double weight_ = 0;                         // of all validation rows
  double linear_ridge_;
  std::vector<Choice> tried_;
};

}  // namespace

Choices choose(const Task& task, std::size_t max_rules, std::uint64_t seed, int turn) {
  const Sample& sample = task.sample;
  const Tuning& tuning = task.tuning;
  const std::size_t affordable = tuning.most_validation_work / task.n_channels();
  const std::size_t n =
      std::min({sample.n_rows, tuning.validation_rows, std::max(affordable, tuning.min_validation_rows)});
  const auto end = sample.weight.begin() + static_cast<std::ptrdiff_t>(n);
  const Folds folds = folds_of(std::accumulate(sample.weight.begin(), end, 0.0), tuning);
  const std::size_t n_units = sample.group.empty() ? n : n_groups(sample, n);  // that cannot be divided
  const int n_parts = std::min(folds.n_parts, static_cast<int>(n_units));
  if (n_parts < 2 || sample.n_classes < 2) {  // nothing to validate: few rules, and a strong ridge
    const double ridge = tuning.ridges[std::min<std::size_t>(1, tuning.ridges.size() - 1)];
    return {{{0, 0, std::min<std::size_t>(max_rules, 8), ridge}}, ridge};
  }
  return InnerValidation(task, n, n_parts, std::min(n_parts, folds.n_folds), seed, turn).run(max_rules);
}

}  // namespace ferl::rules
