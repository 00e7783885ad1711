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

// Where conditions may begin and end. Paths scan the first rows of those that they are fitted on. At least half of any
// rows of a class are fitted on, so that these are among twice as many.
Grid make_candidates(const Sample& sample, const RuleOptions& options, ThreadPool& pool) {
  const std::size_t n_scanned = std::max(options.tuning.most_path_rows, options.tuning.path_rows);
  const std::size_t n_located = 2 * (n_scanned + static_cast<std::size_t>(sample.n_classes));
  if (!options.words) return make_grid(sample, n_located, options.tuning, pool);
  const auto& words = *options.words;
  return make_word_grid(sample, options.max_conditions == 1 ? without_opposites(words) : words, n_located,
                        options.tuning, pool);
}

// The best choices of the start that is best, whose weights are averaged.
std::vector<Choice> best_of_start(const std::vector<Choice>& tried, std::size_t n_most) {
  std::vector<Choice> out;
  for (const Choice& choice : tried)
    if (choice.start == tried.front().start && out.size() < n_most) out.push_back(choice);
  return out;
}

// The mean of the weights over these choices, to whose sizes the path grows; a rule that a choice does not have counts
// zero there.
Weights averaged(Path& path, const std::vector<Choice>& chosen, const Tuning& tuning) {
  std::map<std::size_t, std::vector<Choice>> of_size;
  for (const Choice& choice : chosen) of_size[choice.n_rules].push_back(choice);
  const std::size_t n_channels = path.weights().b.size();
  Weights mean{{}, std::vector<double>(n_channels, 0.0)};
  const double part = 1.0 / static_cast<double>(chosen.size());
  for (auto& [size, own] : of_size) {
    path.grow_to(size);
    std::sort(own.begin(), own.end(), [](const Choice& a, const Choice& b) { return a.ridge > b.ridge; });
    Weights weights = path.weights();
    Refit refit = path.refit();
    mean.v.resize(path.size() * n_channels, 0.0);
    for (const Choice& choice : own) {
      refit.fit({choice.ridge, tuning.last_iterations, tuning.last_tolerance}, weights);
      const Weights full = scaled(weights, choice.scale);
      for (std::size_t k = 0; k < full.v.size(); ++k) mean.v[k] += part * full.v[k];
      for (std::size_t c = 0; c < n_channels; ++c) mean.b[c] += part * full.b[c];
    }
  }
  return mean;
}

// What is left of the path, without rules that have no weight because their sign allows them none.
LearnedRules learned(const Path& path, const Pruned& pruned, double ridge, int n_classes) {
  LearnedRules out;
  const std::vector<RuleColumn> columns = path.columns();
  const auto e = static_cast<std::ptrdiff_t>(n_channels(n_classes));
  std::vector<double> v;
  for (std::size_t k = 0; k < pruned.kept.size(); ++k) {
    const auto first = pruned.weights.v.begin() + static_cast<std::ptrdiff_t>(k) * e, last = first + e;
    if (std::all_of(first, last, [](double own) { return own == 0; })) continue;
    out.rules.push_back(path.rule(pruned.kept[k]));
    out.ridge.push_back(std::min(ridge, columns[pruned.kept[k]].max_ridge));
    v.insert(v.end(), first, last);
  }
  out.weight = per_class(v, n_classes);
  out.prior = per_class(pruned.weights.b, n_classes);
  out.n_grown = path.size();
  out.divergence = pruned.divergence;
  return out;
}

}  // namespace

LearnedRules grow_rules(const Sample& sample, const RuleOptions& options, Monitor& monitor) {
  const Tuning& tuning = options.tuning;
  const Path* growing = nullptr;
  ThreadPool pool(options.n_threads, [&] { monitor.tick(growing ? std::min(growing->size(), options.max_rules) : 0); });

  // Knots or words: the candidates that all paths share.
  const Grid grid = make_candidates(sample, options, pool);
  const bool single_words = options.words && options.max_conditions == 1;
  const Task task{sample, grid, tuning, pool, options.max_conditions, options.monotone, single_words};

  // Inner validation: which start, how many rules, which ridge.
  Choices choices = choose(task, std::max(tuning.grown_rules, options.max_rules), options.seed);
  const Choice best = choices.tried.front();
  const std::vector<Choice> chosen = best_of_start(choices.tried, tuning.averaged);

  // The path on all rows, which begins with the rules that validation found where it followed one path alone.
  std::vector<Row> rows(std::min(sample.n_rows, tuning.fitted_rows));  // by key, so any first ones are a random part
  std::iota(rows.begin(), rows.end(), 0);
  Path path(task, rows, {}, starts(tuning)[best.start], options.seed, choices.path.get());
  growing = &path;
  path.set_linear_ridge(choices.linear_ridge);

  // Weights: the mean over the best choices; then fewer rules that give nearly the same answers.
  const Weights whole = averaged(path, chosen, tuning);
  const double ridge = best.ridge / (best.scale * best.scale);  // of weights that are larger by the scale
  const double tolerance = std::min(options.prune, tuning.prune_nats / static_cast<double>(sample.n_rows));
  const PruneOptions prune_options{tolerance, options.max_rules, options.min_rule_worth, ridge};
  const Pruned pruned = prune(path.fit_rows(), path.columns(), whole, prune_options, tuning, pool);

  LearnedRules out = learned(path, pruned, best.ridge, sample.n_classes);
  out.n_averaged = chosen.size();
  out.choices = std::move(choices.tried);
  return out;
}

}  // namespace ferl::rules
