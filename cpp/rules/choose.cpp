#include "rules/choose.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

namespace ferl::rules {

namespace {

constexpr std::size_t kSizes[] = {8, 20, 50, 100, 150};
constexpr double kRidges[] = {240, 60, 15, 4, 1, 0.25, 0.06};  // from strong to weak: each starts from the one before
// Linear rules need less ridge than others (texture, 11 classes: 97.5 % with one ridge for all, 99.4 % so), but with
// few rows the best ridge of linear rules alone is too weak.
constexpr double kLinearSlack = 16;
// Of rules of one given word. A ridge that is strong enough to keep the weights of many classes apart makes all of them
// too small; one factor mends it. (What it is worth: docs/guide/concepts.md.)
constexpr double kScales[] = {1, 1.2, 1.44, 1.73, 2.07, 2.49, 2.99};
constexpr double kTolerance = 2e-4;       // of refits
constexpr int kIterations = 12;
constexpr double kBetter = 0.999;         // loss below this part of the best is an improvement
constexpr int kPatience = 2;              // sizes without improvement
// A start is given up when another one has this part of its loss with no more rules. With that, and the rules of one
// validated path kept, fits take 0.7 of the time; log-loss on calibration parts is 0.3221 where it was 0.3219.
constexpr double kHopeless = 0.9;
constexpr std::size_t kAround = 2;        // ridges tried on either side of what was best for fewer rules
constexpr double kWorse = 1.25;           // times the best loss: weaker ridges are not tried
constexpr double kNotTried = 1e300;       // loss of what was not tried

// Weight counts, not rows: a row of weight two is the row twice. With 4 and 3 parts of small tables log-loss on
// calibration parts is 0.3187 instead of 0.3183, accuracy 86.80 % instead of 86.93 %.
int n_parts(double weight) { return weight < 500 ? 6 : weight < 1000 ? 5 : 4; }
int n_folds(double weight) { return weight < 1000 ? n_parts(weight) : 1; }

// Sizes to look at: that of the linear rules, if any, and those above.
std::vector<std::size_t> sizes(std::size_t n_first, std::size_t max_rules) {
  std::vector<std::size_t> out;
  if (n_first > 0) out.push_back(n_first);
  for (const std::size_t size : kSizes)
    if (size > n_first && size <= max_rules) out.push_back(size);
  for (std::size_t size = 225; size <= max_rules; size += size / 2) out.push_back(size);
  if (out.empty()) out.push_back(max_rules);
  return out;
}

}  // namespace

std::vector<int> stratified_parts(const Sample& sample, std::size_t n_rows, int parts) {
  // Classes begin where the last one ended, so that the rows of many small classes are spread over the parts.
  std::vector<int> part(n_rows);
  std::vector<std::vector<Row>> of_class(static_cast<std::size_t>(sample.n_classes));
  for (std::size_t i = 0; i < n_rows; ++i)
    of_class[static_cast<std::size_t>(sample.y[i])].push_back(static_cast<Row>(i));
  int turn = 0;
  for (const auto& rows : of_class)
    for (const Row i : rows) part[i] = turn++ % parts;
  return part;
}

namespace {

// All paths of all starts and folds, grown from one size to the next together.
class InnerValidation {
 public:
  InnerValidation(const Sample& sample, const Grid& grid, const PathOptions& options, std::size_t n_rows, int parts,
                  int folds, ThreadPool& pool)
      : pool_(pool), n_scales_(options.single_words ? std::size(kScales) : 1), starts_(starts()), n_folds_(static_cast<std::size_t>(folds)), paths_(starts_.size() * n_folds_),
        progress_(starts_.size()) {
    const auto part = stratified_parts(sample, n_rows, parts);
    pool_.run(paths_.size(), true, [&](std::size_t p) {
      const std::size_t fold = p % n_folds_;
      std::vector<Row> fit, other;
      for (std::size_t i = 0; i < n_rows; ++i)
        (part[i] == static_cast<int>(fold) ? other : fit).push_back(static_cast<Row>(i));
      PathOptions own = options;
      own.start = starts_[p / n_folds_];
      own.seed += fold;
      paths_[p] = std::make_unique<Path>(sample, grid, fit, other, own, pool_);
    });
    for (std::size_t fold = 0; fold < n_folds_; ++fold) weight_ += paths_[fold]->validation_weight();
  }

  Choices run(std::size_t max_rules) {
    for (std::size_t s = 0; s < starts_.size(); ++s) {
      std::size_t first = 0;
      for (std::size_t fold = 0; fold < n_folds_; ++fold) first = std::max(first, paths_[s * n_folds_ + fold]->size());
      progress_[s].sizes = sizes(first, max_rules);
    }
    while (true) {
      std::vector<std::size_t> open;
      for (std::size_t p = 0; p < paths_.size(); ++p)
        if (!progress_[p / n_folds_].is_done()) open.push_back(p);
      if (open.empty()) break;
      std::vector<Losses> losses(paths_.size());
      pool_.run(open.size(), true, [&](std::size_t k) { losses[open[k]] = grow(open[k]); });
      for (std::size_t s = 0; s < starts_.size(); ++s)
        if (!progress_[s].is_done()) judge(s, losses);
      give_up();
      for (std::size_t p = 0; p < paths_.size(); ++p)
        if (progress_[p / n_folds_].is_done()) paths_[p]->keep_rules_alone();
    }
    std::stable_sort(tried_.begin(), tried_.end(), [](const Choice& a, const Choice& b) { return a.loss < b.loss; });
    const std::size_t best = tried_.front().start;
    return {std::move(tried_), linear_ridge_, n_folds_ == 1 ? std::move(paths_[best]) : nullptr};
  }

 private:
  static constexpr std::size_t kNumRidges = std::size(kRidges);
  using Losses = std::array<std::array<double, std::size(kScales)>, kNumRidges>;  // [ridge][scale]

  struct Progress {  // of a start
    std::vector<std::size_t> sizes;
    std::size_t at = 0;
    double best_loss = kNotTried;
    std::size_t best_ridge = kNumRidges;  // of the last size; none yet
    int n_bad = 0;
    bool is_done() const { return at == sizes.size(); }
    std::size_t size() const { return at == 0 ? 0 : sizes[at - 1]; }  // that was reached
    bool is_near(std::size_t ridge) const {
      return best_ridge == kNumRidges || (ridge + kAround >= best_ridge && ridge <= best_ridge + kAround);
    }
  };

  // Ends starts that are far behind another one of no more rules.
  void give_up() {
    for (std::size_t s = 0; s < starts_.size(); ++s)
      for (const Choice& other : tried_)
        if (other.start != s && other.n_rules <= progress_[s].size() && other.loss < kHopeless * progress_[s].best_loss)
          progress_[s].at = progress_[s].sizes.size();
  }

  // Grows a path to the next size, and tries the ridges on it.
  Losses grow(std::size_t p) {
    const Progress& progress = progress_[p / n_folds_];
    Path& path = *paths_[p];
    path.grow_to(progress.sizes[progress.at]);
    Weights weights = path.weights();
    Refit refit = path.refit();
    Losses losses;
    for (auto& own : losses) own.fill(kNotTried);
    double best = kNotTried;
    for (std::size_t r = 0; r < kNumRidges; ++r) {
      if (!progress.is_near(r)) continue;
      refit.fit({kRidges[r], kIterations, kTolerance}, weights);
      for (std::size_t s = 0; s < n_scales_; ++s)
        losses[r][s] = path.validation_loss(s == 0 ? weights : scaled(weights, kScales[s]));
      const double own = *std::min_element(losses[r].begin(), losses[r].end());
      if (own > kWorse * best) break;
      best = std::min(best, own);
    }
    return losses;
  }

  // Notes what the size that was just reached is worth, over all folds.
  void judge(std::size_t s, const std::vector<Losses>& losses) {
    Progress& own = progress_[s];
    Choice best{kNotTried, s, own.sizes[own.at], kRidges[0]};
    for (std::size_t r = 0; r < kNumRidges; ++r) {
      Choice tried{kNotTried, s, own.sizes[own.at], kRidges[r]};
      for (std::size_t scale = 0; scale < n_scales_; ++scale) {
        double sum = 0;
        for (std::size_t fold = 0; fold < n_folds_; ++fold) sum += losses[s * n_folds_ + fold][r][scale];
        if (sum / weight_ < tried.loss && sum < kNotTried) tried.loss = sum / weight_, tried.scale = kScales[scale];
      }
      if (tried.loss >= kNotTried) continue;
      tried_.push_back(tried);
      if (tried_.back().loss < best.loss) best = tried_.back(), own.best_ridge = r;
    }
    if (own.at == 0 && starts_[s].linear) {
      linear_ridge_ = kLinearSlack * best.ridge;
      for (std::size_t fold = 0; fold < n_folds_; ++fold) paths_[s * n_folds_ + fold]->set_linear_ridge(linear_ridge_);
    }
    own.n_bad = best.loss < own.best_loss * kBetter ? 0 : own.n_bad + 1;
    if (own.n_bad == 0) own.best_loss = best.loss;
    ++own.at;
    if (own.n_bad >= kPatience) own.at = own.sizes.size();
  }

  ThreadPool& pool_;
  std::size_t n_scales_;
  std::vector<Start> starts_;
  std::size_t n_folds_;
  std::vector<std::unique_ptr<Path>> paths_;  // [start][fold]
  std::vector<Progress> progress_;            // [start]
  double weight_ = 0;                         // of all validation rows
  double linear_ridge_ = kRidges[0];
  std::vector<Choice> tried_;
};

}  // namespace

Choices choose(const Sample& sample, const Grid& grid, const PathOptions& options, std::size_t max_rules,
               ThreadPool& pool) {
  const std::size_t n = std::min(sample.n_rows, kValidationRows);
  const auto end = sample.weight.begin() + static_cast<std::ptrdiff_t>(n);
  const double weight = std::accumulate(sample.weight.begin(), end, 0.0);
  const int parts = std::min<int>(n_parts(weight), static_cast<int>(n));
  if (parts < 2 || sample.n_classes < 2) return {{{0, 0, std::min<std::size_t>(max_rules, 8), kRidges[1]}}, kRidges[1], nullptr};
  return InnerValidation(sample, grid, options, n, parts, std::min(parts, n_folds(weight)), pool).run(max_rules);
}

}  // namespace ferl::rules
