#include "rules/grow_rules.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/thread_pool.h"
#include "rules/path.h"
#include "rules/prune.h"
#include "rules/words.h"

namespace ferl::rules {

namespace {

constexpr std::size_t kAveraged = 4;      // best choices of one path; log-loss 0.3187, of 2 and of 8 it is 0.3207 and 0.3205
constexpr std::size_t kGrownRules = 150;  // a small budget is pruned backwards from as many: better than growing few
constexpr std::size_t kMaxRows = 200'000;  // that weights are fitted on: the firing of every rule is kept for each

// The mean of the weights over the best choices; a rule that a choice does not have counts zero there.
Weights averaged(Path& path, const std::vector<Choice>& chosen, std::size_t n_channels) {
  std::map<std::size_t, std::vector<Choice>> of_size;
  for (const Choice& choice : chosen) of_size[choice.n_rules].push_back(choice);
  Weights mean{{}, std::vector<double>(n_channels, 0.0)};
  const double part = 1.0 / static_cast<double>(chosen.size());
  for (auto& [size, own] : of_size) {
    path.grow_to(size);
    std::sort(own.begin(), own.end(), [](const Choice& a, const Choice& b) { return a.ridge > b.ridge; });
    Weights weights = path.weights();
    Refit refit = path.refit();
    mean.v.resize(path.size() * n_channels, 0.0);
    for (const Choice& choice : own) {
      refit.fit({choice.ridge, 60, 3e-5}, weights);
      const Weights full = scaled(weights, choice.scale);
      for (std::size_t k = 0; k < full.v.size(); ++k) mean.v[k] += part * full.v[k];
      for (std::size_t c = 0; c < n_channels; ++c) mean.b[c] += part * full.b[c];
    }
  }
  return mean;
}

Grid make_candidates(const Sample& sample, const RuleOptions& options, ThreadPool& pool) {
  // Paths scan the first rows of those that they are fitted on, which are among these.
  if (!options.words) return make_grid(sample, kValidationRows, pool);
  const auto& words = *options.words;
  return make_word_grid(sample, options.max_conditions == 1 ? without_opposites(words) : words, kValidationRows, pool);
}

}  // namespace

LearnedRules grow_rules(const Sample& sample, const RuleOptions& options, Monitor& monitor) {
  const Path* growing = nullptr;
  ThreadPool pool(options.n_threads,
                  [&] { monitor.tick(growing ? std::min(growing->size(), options.max_rules) : 0); });
  const Grid grid = make_candidates(sample, options, pool);
  const std::size_t e = n_channels(sample.n_classes), most = std::max(kGrownRules, options.max_rules);
  const bool single_words = options.words && options.max_conditions == 1;
  PathOptions path_options{{}, options.max_conditions, options.monotone, single_words, options.seed};
  LearnedRules out;
  Choices choices = choose(sample, grid, path_options, most, pool);
  out.choices = std::move(choices.tried);
  const Choice best = out.choices.front();
  std::vector<Choice> chosen;
  for (const Choice& choice : out.choices)
    if (choice.start == best.start && chosen.size() < kAveraged) chosen.push_back(choice);
  path_options.start = starts()[best.start];
  std::vector<Row> rows(std::min(sample.n_rows, kMaxRows));  // by key, so any first ones are a random part
  std::iota(rows.begin(), rows.end(), 0);
  Path path(sample, grid, rows, {}, path_options, pool, choices.path.get());
  growing = &path;
  path.set_linear_ridge(choices.linear_ridge);
  const Weights whole = averaged(path, chosen, e);
  out.n_grown = path.size();
  out.n_averaged = chosen.size();
  const auto columns = path.columns();
  // The ridge of weights that are larger by the scale.
  const double ridge = best.ridge / (best.scale * best.scale);
  const Pruned pruned =
      prune(path.fit_rows(), columns, whole, {options.prune, options.max_rules, options.min_rule_worth, ridge}, pool);
  out.divergence = pruned.divergence;
  std::vector<double> v;
  for (std::size_t k = 0; k < pruned.kept.size(); ++k) {
    const auto first = pruned.weights.v.begin() + static_cast<std::ptrdiff_t>(k * e);
    const auto last = first + static_cast<std::ptrdiff_t>(e);
    if (std::all_of(first, last, [](double own) { return own == 0; })) continue;  // its sign allows it nothing
    out.rules.push_back(path.rules()[pruned.kept[k]]);
    out.ridge.push_back(std::min(best.ridge, columns[pruned.kept[k]].max_ridge));
    v.insert(v.end(), first, last);
  }
  out.weight = per_class(v, sample.n_classes);
  out.prior = per_class(pruned.weights.b, sample.n_classes);
  return out;
}

}  // namespace ferl::rules
