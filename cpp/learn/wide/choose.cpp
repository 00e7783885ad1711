#include "learn/wide/choose.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace ferl::wide {

namespace {

constexpr std::size_t kSizes[] = {8, 20, 50, 100, 150};
constexpr double kRidges[] = {240, 60, 15, 4, 1, 0.25, 0.06};  // from strong to weak: each starts from the one before
// Linear rules need less ridge than others (texture, 11 classes: 97.5 % with one ridge for all, 99.7 % so), but with
// few rows the best ridge of linear rules alone is too weak.
constexpr double kLinearSlack = 16;
constexpr double kTolerance = 2e-4;       // of refits
constexpr std::size_t kMaxRows = 20'000;  // of inner validation
constexpr double kBetter = 0.999;         // loss below this part of the best is an improvement
constexpr int kPatience = 2;              // sizes without improvement
constexpr std::size_t kAround = 2;        // ridges tried on either side of what was best for fewer rules
constexpr double kWorse = 1.25;           // times the best loss: weaker ridges are not tried
constexpr double kHopeless = 1e300;       // loss of what was not tried

// Weight counts, not rows: a row of weight two is the row twice.
int n_parts(double weight) { return weight < 500 ? 4 : weight < 1000 ? 3 : 4; }
int n_folds(double weight) { return weight < 500 ? 4 : weight < 1000 ? 3 : 1; }

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

Choices choose(const Sample& sample, const Grid& grid, const PathOptions& options, std::size_t max_rules,
               ThreadPool& pool) {
  const std::size_t n = std::min(sample.n_rows, kMaxRows);
  const auto end = sample.weight.begin() + static_cast<std::ptrdiff_t>(n);
  const double weight = std::accumulate(sample.weight.begin(), end, 0.0);
  const int parts = std::min<int>(n_parts(weight), static_cast<int>(n));
  if (parts < 2 || sample.n_classes < 2) return {{{0, 0, std::min<std::size_t>(max_rules, 8), kRidges[1]}}, kRidges[1]};
  const auto part = stratified_parts(sample, n, parts);
  const auto n_fold = static_cast<std::size_t>(std::min(parts, n_folds(weight)));
  const auto all_starts = starts();
  const std::size_t n_paths = all_starts.size() * n_fold;
  std::vector<std::unique_ptr<Path>> paths(n_paths);
  pool.run(n_paths, true, [&](std::size_t p) {
    const std::size_t fold = p % n_fold;
    std::vector<Row> fit, other;
    for (std::size_t i = 0; i < n; ++i)
      (part[i] == static_cast<int>(fold) ? other : fit).push_back(static_cast<Row>(i));
    PathOptions own = options;
    own.start = all_starts[p / n_fold];
    own.seed += fold;
    paths[p] = std::make_unique<Path>(sample, grid, fit, other, own, pool);
  });
  double total = 0;
  for (std::size_t fold = 0; fold < n_fold; ++fold) total += paths[fold]->validation_weight();
  constexpr std::size_t n_ridges = std::size(kRidges);

  struct Progress {
    std::vector<std::size_t> sizes;
    std::size_t at = 0;
    double best = 1e300;
    std::size_t best_ridge = n_ridges;  // none yet
    int n_bad = 0;
    bool is_done() const { return at == sizes.size(); }
  };
  std::vector<Progress> progress(all_starts.size());
  for (std::size_t s = 0; s < all_starts.size(); ++s) {
    std::size_t first = 0;
    for (std::size_t fold = 0; fold < n_fold; ++fold) first = std::max(first, paths[s * n_fold + fold]->size());
    progress[s].sizes = sizes(first, max_rules);
  }
  std::vector<Choice> out;
  double linear_ridge = kRidges[0];
  while (true) {
    std::vector<std::size_t> open;
    for (std::size_t p = 0; p < n_paths; ++p)
      if (!progress[p / n_fold].is_done()) open.push_back(p);
    if (open.empty()) break;
    std::vector<double> loss(n_paths * n_ridges, 0.0);
    pool.run(open.size(), true, [&](std::size_t k) {
      const std::size_t p = open[k];
      Path& path = *paths[p];
      path.grow_to(progress[p / n_fold].sizes[progress[p / n_fold].at]);
      Weights weights = path.weights();
      Refit refit = path.refit(path.size());
      double best = kHopeless;
      for (std::size_t r = 0; r < n_ridges; ++r) {
        double& own = loss[p * n_ridges + r] = kHopeless;
        const auto& around = progress[p / n_fold].best_ridge;
        if ((around < n_ridges && r + kAround < around) || (around < n_ridges && r > around + kAround)) continue;
        if (r > 0 && best < kHopeless && loss[p * n_ridges + r - 1] > kWorse * best) continue;
        refit.fit({kRidges[r], 12, kTolerance}, weights);
        own = path.validation_loss(weights);
        best = std::min(best, own);
      }
    });
    for (std::size_t s = 0; s < all_starts.size(); ++s) {
      Progress& own = progress[s];
      if (own.is_done()) continue;
      double best = kHopeless;
      std::size_t ridge = 0;
      for (std::size_t r = 0; r < n_ridges; ++r) {
        double sum = 0;
        for (std::size_t fold = 0; fold < n_fold; ++fold) sum += loss[(s * n_fold + fold) * n_ridges + r];
        if (sum < kHopeless) out.push_back({sum / total, s, own.sizes[own.at], kRidges[r]});
        if (sum / total < best) best = sum / total, ridge = r;
      }
      if (own.at == 0 && all_starts[s].linear) {
        linear_ridge = kLinearSlack * kRidges[ridge];
        for (std::size_t fold = 0; fold < n_fold; ++fold) paths[s * n_fold + fold]->set_linear_ridge(linear_ridge);
      }
      if (best < own.best * kBetter) own.best = best, own.n_bad = 0;
      else ++own.n_bad;
      own.best_ridge = ridge;
      ++own.at;
      if (own.n_bad >= kPatience) own.at = own.sizes.size();
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Choice& a, const Choice& b) { return a.loss < b.loss; });
  return {std::move(out), linear_ridge};
}

}  // namespace ferl::wide
