#include "rules/grow_rules.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "core/thread_pool.h"
#include "rules/path.h"
#include "rules/prune.h"
#include "rules/repeated_rows.h"
#include "rules/words.h"

namespace ferl::rules {

namespace {

constexpr std::uint64_t kSeedsPerTurn = 64;  // more than there are parts, each of which has a seed

// Where conditions may begin and end. A path scans the first rows of its fitting rows. It is fitted on at least half of
// the rows of each class, so the first 2 n rows contain the n rows that it scans.
Grid make_candidates(const Sample& sample, const RuleOptions& options, ThreadPool& pool) {
  const std::size_t n_scanned = std::max(options.tuning.most_path_rows, options.tuning.path_rows);
  const std::size_t n_located = 2 * (n_scanned + static_cast<std::size_t>(sample.n_classes));
  if (!options.words) return make_grid(sample, n_located, options.curves_only, options.tuning, pool);
  const auto& words = *options.words;
  return make_word_grid(sample, options.max_conditions == 1 ? without_opposites(words) : words, n_located,
                        options.tuning, pool);
}

// The best choices of the best start; their weights are averaged.
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

// The rules of the path, without rules whose sign constraint leaves them no weight.
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

std::vector<Row> fitted_rows(const PathRows& rows) {
  return {rows.row.begin(), rows.row.begin() + static_cast<std::ptrdiff_t>(rows.n_fit)};
}

std::vector<Row> other_rows(const PathRows& rows) {
  const auto from = rows.row.begin() + static_cast<std::ptrdiff_t>(rows.n_fit_padded);
  return {from, from + static_cast<std::ptrdiff_t>(rows.n_other)};
}

// Curves and maps behind the rules, chosen if one path was validated: its residuals are available for rows that its
// rules were not fitted on.
GridPlans chosen_grids(const Task& task, const Choices& choices, const RuleOptions& options) {
  const int n_classes = task.n_classes();
  if (!choices.followed() || options.max_maps < 0 || options.words || n_classes < 2) return {};
  const Path& path = *choices.followed();
  const Weights& weights = choices.weights.front();
  std::vector<Rule> rules;
  for (std::size_t k = 0; k < weights.v.size() / task.n_channels(); ++k) rules.push_back(path.rule(k));
  const std::vector<double> weight = per_class(weights.v, n_classes), prior = per_class(weights.b, n_classes);
  return choose_grids(task.sample, {rules, weight, prior}, fitted_rows(path.rows()), other_rows(path.rows()),
                      {options.max_conditions == 1 ? 0 : options.max_maps, options.monotone, options.curves_only,
                       options.last_stage_ignores_groups},
                      task.tuning, task.pool);
}

// The constant of curves and maps goes into the prior.
void add_grids(LearnedGrids grids, LearnedRules& out) {
  out.grids = std::move(grids);
  for (std::size_t c = 0; c < out.grids.prior.size(); ++c) out.prior[c] += out.grids.prior[c];
}

// Inner validation and the path on all rows, of one seed.
struct Grown {
  Choices choices;
  std::vector<Choice> chosen;
  std::unique_ptr<Path> path;
  Weights weights;        // the mean over the choices
  std::size_t max_rules;  // that pruning leaves
};

// Fewer rules that give nearly the same answers. best: the choice of inner validation.
Pruned pruned(const Path& path, const Weights& weights, const Choice& best, std::size_t max_rules, const Task& task,
              const RuleOptions& options) {
  const double ridge = best.ridge / (best.scale * best.scale);  // of weights that are larger by the scale
  const double tolerance = std::min(options.prune, task.tuning.prune_nats / static_cast<double>(task.sample.n_rows));
  const PruneOptions own{tolerance, max_rules, options.min_rule_worth, ridge};
  return prune(path.fit_rows(), path.columns(), weights, own, task.tuning, task.pool);
}

Pruned pruned(const Grown& from, const Task& task, const RuleOptions& options) {
  return pruned(*from.path, from.weights, from.chosen.front(), from.max_rules, task, options);
}

// The models that inner validation has learned without the rows of each part that validated, pruned as the model will
// be. source: the row that each row of the task's sample comes from; empty: itself.
std::vector<HeldOut> held_out(const Task& task, const Choices& choices, const GridPlans& grids,
                              const RuleOptions& options, const std::vector<Row>& source = {}) {
  const Choice& best = choices.tried.front();
  std::vector<HeldOut> out;
  for (std::size_t fold = 0; fold < choices.weights.size(); ++fold) {
    const Path& followed = *choices.paths[fold];
    HeldOut part{fitted_rows(followed.rows()), other_rows(followed.rows()), {}};
    const Weights weights = scaled(choices.weights[fold], best.scale);
    Path path(task, part.fit, {}, starts(task.tuning)[best.start], options.seed, &followed);
    path.set_linear_ridge(choices.linear_ridge);
    path.take_over(weights.v.size() / task.n_channels());
    const Pruned left = pruned(path, weights, best, options.max_rules, task, options);
    LearnedRules& own = part.learned = learned(path, left, best.ridge, task.n_classes());
    if (!grids.columns.empty()) {
      // The other rows have groups of which the last stage learns nothing here.
      const std::size_t n_stages = options.last_stage_ignores_groups ? 1 : grids.stages.size();
      add_grids(learn_grids_on(task.sample, grids, part.fit, {own.rules, own.weight, own.prior}, n_stages, task.tuning,
                               task.pool),
                own);
      part.other.resize(grids.n_validating);
    }
    for (std::vector<Row>* some : {&part.fit, &part.other}) {
      if (source.empty()) continue;
      for (Row& i : *some) i = source[i];
      std::sort(some->begin(), some->end());
      some->erase(std::unique(some->begin(), some->end()), some->end());
    }
    out.push_back(std::move(part));
  }
  return out;
}

// The number of paths to average: one path follows the noise of the rows that it was grown on. Small tables have one
// path, since they were tuned with one; large tables need no more, since their noise is small.
std::size_t n_paths(const Task& task) {
  const Tuning& tuning = task.tuning;
  const std::size_t n = task.sample.n_rows;
  if (n <= tuning.small_rows || task.single_words) return 1;
  const std::size_t affordable = tuning.parts_work / (n * std::max(task.n_channels(), tuning.parts_channels));
  return std::clamp<std::size_t>(affordable, 1, tuning.most_parts);
}

// Adds the rules of paths that leave out other parts of the rows, and takes the mean of all weights. These paths grow
// to the size that validation chose, and no more rules are kept than the first path alone would keep.
void add_parts(Grown& to, std::size_t n, std::uint64_t seed, const Task& task, const RuleOptions& options) {
  const Tuning& tuning = task.tuning;
  to.max_rules = pruned(to, task, options).kept.size();
  const Start start = starts(tuning)[to.chosen.front().start];
  const auto is_smaller = [](const Choice& a, const Choice& b) { return a.n_rules < b.n_rules; };
  const std::size_t n_rules = std::max_element(to.chosen.begin(), to.chosen.end(), is_smaller)->n_rules;
  std::vector<Row> rows(to.path->rows().n_fit);
  std::iota(rows.begin(), rows.end(), 0);
  const double part = 1.0 / static_cast<double>(n);
  to.weights = scaled(std::move(to.weights), part);
  for (std::size_t k = 1; k < n; ++k) {
    std::vector<Row> some;
    for (const Row i : rows)
      if (i % tuning.most_parts != k) some.push_back(i);
    Path first(task, some, {}, start, seed + k);
    first.set_linear_ridge(to.choices.linear_ridge);
    first.grow_to(n_rules);
    Path next(task, rows, {}, start, seed + k, &first);
    next.set_linear_ridge(to.choices.linear_ridge);
    to.path->absorb(next, scaled(averaged(next, to.chosen, tuning), part), to.weights);
  }
}

// The same where rows were taken apart: another inner validation, in which all pieces of a row are on one side.
std::vector<HeldOut> held_out_whole(const Task& task, const RowsApart& apart, const RuleOptions& options) {
  Sample whole = apart.sample;
  if (whole.group.empty()) whole.group.assign(apart.source.begin(), apart.source.end());
  const Task own{whole, task.grid, task.tuning, task.pool, task.max_conditions, task.monotone, task.single_words};
  const Choices choices = choose(own, std::max(task.tuning.grown_rules, options.max_rules), options.seed, 0);
  return held_out(own, choices, chosen_grids(own, choices, options), options, apart.source);
}

// turn: each turn of the effort has a different seed and cuts the rows into different parts.
Grown grown(const Task& task, const RuleOptions& options, int turn, const Path*& growing) {
  const Tuning& tuning = task.tuning;
  const std::uint64_t seed = options.seed + kSeedsPerTurn * static_cast<std::uint64_t>(turn);
  // Inner validation: which start, how many rules, which ridge.
  Choices choices = choose(task, std::max(tuning.grown_rules, options.max_rules), seed, turn);
  const std::vector<Choice> chosen = best_of_start(choices.tried, tuning.averaged);

  // The path on all rows. If validation followed only one path, it begins with the rules of that path.
  const std::size_t affordable = std::max(tuning.most_fitted_work / task.n_channels(), tuning.min_fitted_rows);
  // By key, so any first ones are a random part.
  std::vector<Row> rows(std::min({task.sample.n_rows, tuning.fitted_rows, affordable}));
  std::iota(rows.begin(), rows.end(), 0);
  const Start start = starts(tuning)[chosen.front().start];
  auto path = std::make_unique<Path>(task, rows, std::vector<Row>{}, start, seed, choices.followed());
  growing = path.get();
  path->set_linear_ridge(choices.linear_ridge);
  Weights weights = averaged(*path, chosen, tuning);
  Grown out{std::move(choices), chosen, std::move(path), std::move(weights), options.max_rules};
  if (const std::size_t n = n_paths(task); n > 1) add_parts(out, n, seed, task, options);
  return out;
}

// Adds the rules of models of other turns, joins equal rules, and takes the mean of all weights. Keeps the mean number
// of rules of these models.
void add_turns(Grown& first, const Task& task, const RuleOptions& options, const Path*& growing) {
  const double part = 1.0 / options.effort;
  std::size_t n_kept = pruned(first, task, options).kept.size();
  first.weights = scaled(std::move(first.weights), part);
  for (int turn = 1; turn < options.effort; ++turn) {
    Grown next = grown(task, options, turn, growing);
    growing = first.path.get();
    n_kept += pruned(next, task, options).kept.size();
    first.path->absorb(*next.path, scaled(std::move(next.weights), part), first.weights);
  }
  const auto n_turns = static_cast<std::size_t>(options.effort);
  first.max_rules = (n_kept + n_turns - 1) / n_turns;
}

}  // namespace

LearnedRules grow_rules(const Sample& merged, const RuleOptions& options, Monitor& monitor, const Judge& judge) {
  const std::optional<RowsApart> apart = repeated_rows_apart(merged, options.tuning);
  const Sample& sample = apart ? apart->sample : merged;
  const Path* growing = nullptr;
  ThreadPool pool(options.n_threads, [&] { monitor.tick(growing ? std::min(growing->size(), options.max_rules) : 0); });

  // Knots or words: the candidates that all paths share.
  const Grid grid = make_candidates(sample, options, pool);
  const bool single_words = options.words && options.max_conditions == 1;
  const Task task{sample, grid, options.tuning, pool, options.max_conditions, options.monotone, single_words};

  Grown found = grown(task, options, 0, growing);
  if (options.effort > 1) add_turns(found, task, options, growing);
  GridPlans grids = chosen_grids(task, found.choices, options);
  RuleOptions last = options;
  if (judge)
    last.prune = judge(apart ? held_out_whole(task, *apart, options) : held_out(task, found.choices, grids, options));
  const Pruned left = pruned(found, task, last);

  LearnedRules out = learned(*found.path, left, found.chosen.front().ridge, sample.n_classes);
  add_grids(learn_grids(sample, std::move(grids), {out.rules, out.weight, out.prior}, options.tuning, pool), out);
  out.n_averaged = found.chosen.size();
  out.choices = std::move(found.choices.tried);
  return out;
}

}  // namespace ferl::rules
