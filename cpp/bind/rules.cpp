// The door to learning rules, and to fitting their weights again.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <new>

#include "bind/array.h"
#include "bind/rule_arrays.h"
#include "rules/grow_rules.h"

namespace ferl::python {

using namespace nb::literals;
using rules::RuleOptions;
using rules::Tuning;

namespace {

// What fits are tuned with unless they are given something else: `_core.TUNING`, which the benchmark may change.
Tuning& tuning() {
  static Tuning shared;
  return shared;
}

void make_options(RuleOptions* place, std::size_t max_rules, std::size_t max_conditions, double prune,
                  double min_rule_worth, int effort, std::vector<int> monotone, const nb::object& words,
                  std::vector<int> curves_only, int n_threads, std::uint64_t seed, int max_maps, const Tuning* given,
                  bool last_stage_ignores_groups) {
  require(max_rules > 0 && max_conditions >= 1 && max_conditions <= 3,
          "max_rules must be positive, and max_conditions 1, 2 or 3.");
  require(max_maps >= -1, "max_maps must be at least -1, which allows neither curves nor maps.");
  require(prune >= 0 && min_rule_worth >= 0, "prune and min_rule_worth must not be negative.");
  require(effort >= 1, "effort must be positive.");
  require(std::all_of(monotone.begin(), monotone.end(), is_sign), "Every number of monotone must be -1, 0 or 1.");
  const Tuning& chosen = given ? *given : tuning();
  rules::check(chosen);
  new (place) RuleOptions{max_rules,
                          max_conditions,
                          prune,
                          min_rule_worth,
                          effort,
                          std::move(monotone),
                          words_of(words),
                          std::move(curves_only),
                          last_stage_ignores_groups,
                          checked_threads(n_threads),
                          seed,
                          max_maps,
                          chosen};
}

// Curves and maps one behind the other: columns, cuts of two axes each, cells.
void write_grids(const rules::LearnedGrids& learned, std::size_t n_classes, nb::dict& out) {
  std::vector<std::int32_t> column;
  std::vector<std::int64_t> cut_start{0}, cell_start{0};
  std::vector<double> cut, value;
  for (const rules::LearnedGrid& grid : learned.grids) {
    column.insert(column.end(), {grid.first, grid.second});
    for (const auto* cuts : {&grid.first_cuts, &grid.second_cuts}) {
      cut.insert(cut.end(), cuts->begin(), cuts->end());
      cut_start.push_back(static_cast<std::int64_t>(cut.size()));
    }
    value.insert(value.end(), grid.value.begin(), grid.value.end());
    cell_start.push_back(static_cast<std::int64_t>(value.size() / n_classes));
  }
  out["grid_column"] = to_numpy(std::move(column), {learned.grids.size(), 2});
  out["grid_cut_start"] = vector_of(cut_start);
  out["grid_cut"] = vector_of(cut);
  out["grid_cell_start"] = vector_of(cell_start);
  const std::size_t n_cells = value.size() / n_classes;
  out["grid_value"] = to_numpy(std::move(value), {n_cells, n_classes});
  nb::list log;
  for (const auto& [name, loss] : learned.log) log.append(nb::make_tuple(name, loss));
  out["grid_log"] = log;
}

nb::dict learned_arrays(rules::LearnedRules learned, std::size_t n_classes) {
  const std::size_t n_rules = learned.rules.size();
  nb::dict out = chains(learned.rules);
  out["weight"] = to_numpy(std::move(learned.weight), {n_rules, n_classes});
  out["prior"] = vector_of(learned.prior);
  out["ridge"] = vector_of(learned.ridge);
  write_grids(learned.grids, n_classes, out);
  return out;
}

// judge: None, or a function that returns how far to prune, by what inner validation has learned.
nb::dict grow_rules(const Sample& sample, const RuleOptions& options, const nb::object& report,
                    const nb::object& judge) {
  check_words(options.words, sample);
  require(options.monotone.empty() || (options.monotone.size() == sample.n_columns && sample.n_classes == 2),
          "monotone needs one number per column of X, and two classes.");
  require(options.curves_only.empty() || options.curves_only.size() == sample.n_columns,
          "curves_only needs one number per column of X.");
  auto monitor = python_monitor(report);
  const auto n_classes = static_cast<std::size_t>(sample.n_classes);
  const auto prune = [&](const std::vector<rules::HeldOut>& tried) {
    nb::gil_scoped_acquire gil;
    nb::list parts;
    for (const rules::HeldOut& own : tried) {
      nb::dict part = learned_arrays(own.learned, n_classes);
      part["fit"] = vector_of(std::vector<std::int32_t>(own.fit.begin(), own.fit.end()));
      part["other"] = vector_of(std::vector<std::int32_t>(own.other.begin(), own.other.end()));
      parts.append(part);
    }
    return nb::cast<double>(judge(parts));
  };
  rules::LearnedRules learned;
  {
    nb::gil_scoped_release no_gil;
    learned = rules::grow_rules(sample, options, monitor, judge.is_none() ? rules::Judge{} : rules::Judge{prune});
  }
  nb::list choices;
  for (const rules::Choice& choice : learned.choices)
    choices.append(nb::make_tuple(choice.loss, choice.start == 0 ? "linear" : "empty", choice.n_rules, choice.ridge,
                                  choice.scale));
  const std::size_t n_grown = learned.n_grown, n_averaged = learned.n_averaged;
  const double divergence = learned.divergence;
  nb::dict out = learned_arrays(std::move(learned), n_classes);
  out["n_grown"] = n_grown;
  out["n_averaged"] = n_averaged;
  out["divergence"] = divergence;
  out["choices"] = choices;
  return out;
}

// The part of each row, of so many, as inner validation has them.
nb::object stratified_parts(const Sample& sample, int n_parts, int turn) {
  require(n_parts > 0, "n_parts must be positive.");
  return vector_of(rules::stratified_parts(sample, sample.n_rows, n_parts, turn));
}

// ridge: of each rule's standardised weight. is_packed: whether firings are packed, as in a fit of many rows.
nb::dict refit_rules(const CMatrix& firing, const CMatrix& target, const Vector& weight, const Codes& sign,
                     const Vector& ridge, const CMatrix& offset, int n_threads, bool is_packed) {
  FitArrays given(firing, target, weight, sign);
  if (is_packed) given.pack();
  require(ridge.shape(0) == firing.shape(1) && offset.shape(0) == firing.shape(0),
          "ridge needs one number per rule, and offset one row per row of firing.");
  given.set_offset(offset);
  for (std::size_t k = 0; k < given.columns.size(); ++k) given.columns[k].max_ridge = ridge.data()[k];
  const auto n_classes = static_cast<int>(target.shape(1));
  const std::size_t e = rules::n_channels(n_classes), n_rules = firing.shape(1);
  rules::Weights weights{std::vector<double>(n_rules * e, 0.0), std::vector<double>(e, 0.0)};
  ThreadPool pool(n_threads, [] {});
  double objective = 0;
  {
    nb::gil_scoped_release no_gil;
    objective = rules::Refit(given.rows(), given.columns, pool, tuning()).fit({rules::kNoLimit, 200, 1e-10}, weights);
  }
  nb::dict out = weights_by_class(weights, n_rules, n_classes);
  out["objective"] = objective;
  return out;
}

}  // namespace

void bind_rules(nb::module_& m) {
  nb::class_<Tuning>(m, "Tuning")
      .def(nb::init<>())
      .def(nb::init<const Tuning&>())
      .def_rw("small_rows", &Tuning::small_rows)
      .def_rw("path_share", &Tuning::path_share)
      .def_rw("most_path_work", &Tuning::most_path_work)
      .def_rw("most_path_rows", &Tuning::most_path_rows)
      .def_rw("scan_share", &Tuning::scan_share)
      .def_rw("most_scan_work", &Tuning::most_scan_work)
      .def_rw("most_scan_rows", &Tuning::most_scan_rows)
      .def_rw("curvature_share", &Tuning::curvature_share)
      .def_rw("most_curvature_rows", &Tuning::most_curvature_rows)
      .def_rw("curvature_rows_per_rule", &Tuning::curvature_rows_per_rule)
      .def_rw("more_ridges", &Tuning::more_ridges)
      .def_rw("least_pieces", &Tuning::least_pieces)
      .def_rw("most_pieces", &Tuning::most_pieces)
      .def_rw("heavy_row", &Tuning::heavy_row)
      .def_rw("knot_budget", &Tuning::knot_budget)
      .def_rw("min_knots", &Tuning::min_knots)
      .def_rw("max_knots", &Tuning::max_knots)
      .def_rw("weight_per_knot", &Tuning::weight_per_knot)
      .def_rw("least_gap", &Tuning::least_gap)
      .def_rw("far_out", &Tuning::far_out)
      .def_rw("least_share", &Tuning::least_share)
      .def_rw("linear_tau", &Tuning::linear_tau)
      .def_rw("empty_tau", &Tuning::empty_tau)
      .def_rw("linear_rules", &Tuning::linear_rules)
      .def_rw("linear_curves", &Tuning::linear_curves)
      .def_rw("scan_work", &Tuning::scan_work)
      .def_rw("min_scan_rows", &Tuning::min_scan_rows)
      .def_rw("max_scan_rows", &Tuning::max_scan_rows)
      .def_rw("most_active_work", &Tuning::most_active_work)
      .def_rw("min_active", &Tuning::min_active)
      .def_rw("feature_work", &Tuning::feature_work)
      .def_rw("least_spread", &Tuning::least_spread)
      .def_rw("set_orderings", &Tuning::set_orderings)
      .def_rw("luck_deviations", &Tuning::luck_deviations)
      .def_rw("smoothing", &Tuning::smoothing)
      .def_rw("least_weight", &Tuning::least_weight)
      .def_rw("beam", &Tuning::beam)
      .def_rw("random_starts", &Tuning::random_starts)
      .def_rw("single_candidates", &Tuning::single_candidates)
      .def_rw("pair_extensions", &Tuning::pair_extensions)
      .def_rw("pair_candidates", &Tuning::pair_candidates)
      .def_rw("newton_share", &Tuning::newton_share)
      .def_rw("newton_smoothing", &Tuning::newton_smoothing)
      .def_rw("most_step", &Tuning::most_step)
      .def_rw("pairs_after", &Tuning::pairs_after)
      .def_rw("most_correlation", &Tuning::most_correlation)
      .def_rw("least_of_best", &Tuning::least_of_best)
      .def_rw("path_rows", &Tuning::path_rows)
      .def_rw("path_ridge", &Tuning::path_ridge)
      .def_rw("path_iterations", &Tuning::path_iterations)
      .def_rw("path_tolerance", &Tuning::path_tolerance)
      .def_rw("refit_every", &Tuning::refit_every)
      .def_rw("refit_rule_share", &Tuning::refit_rule_share)
      .def_rw("refit_channel_share", &Tuning::refit_channel_share)
      .def_rw("refit_always", &Tuning::refit_always)
      .def_rw("intercept_ridge", &Tuning::intercept_ridge)
      .def_rw("curvature_rows", &Tuning::curvature_rows)
      .def_rw("memory", &Tuning::memory)
      .def_rw("most_halvings", &Tuning::most_halvings)
      .def_rw("armijo", &Tuning::armijo)
      .def_rw("bounded_sweeps", &Tuning::bounded_sweeps)
      .def_rw("bounded_tolerance", &Tuning::bounded_tolerance)
      .def_rw("validation_rows", &Tuning::validation_rows)
      .def_rw("most_validation_work", &Tuning::most_validation_work)
      .def_rw("min_validation_rows", &Tuning::min_validation_rows)
      .def_rw("few_weight", &Tuning::few_weight)
      .def_rw("some_weight", &Tuning::some_weight)
      .def_rw("parts_of_few", &Tuning::parts_of_few)
      .def_rw("parts_of_some", &Tuning::parts_of_some)
      .def_rw("parts_of_many", &Tuning::parts_of_many)
      .def_rw("sizes", &Tuning::sizes)
      .def_rw("next_size", &Tuning::next_size)
      .def_rw("ridges", &Tuning::ridges)
      .def_rw("scales", &Tuning::scales)
      .def_rw("linear_slack", &Tuning::linear_slack)
      .def_rw("choice_iterations", &Tuning::choice_iterations)
      .def_rw("choice_tolerance", &Tuning::choice_tolerance)
      .def_rw("better", &Tuning::better)
      .def_rw("patience", &Tuning::patience)
      .def_rw("far_worse", &Tuning::far_worse)
      .def_rw("many_classes", &Tuning::many_classes)
      .def_rw("hopeless", &Tuning::hopeless)
      .def_rw("ridges_around", &Tuning::ridges_around)
      .def_rw("worse", &Tuning::worse)
      .def_rw("most_loss", &Tuning::most_loss)
      .def_rw("least_prior", &Tuning::least_prior)
      .def_rw("fitted_rows", &Tuning::fitted_rows)
      .def_rw("most_fitted_work", &Tuning::most_fitted_work)
      .def_rw("min_fitted_rows", &Tuning::min_fitted_rows)
      .def_rw("grown_rules", &Tuning::grown_rules)
      .def_rw("averaged", &Tuning::averaged)
      .def_rw("most_parts", &Tuning::most_parts)
      .def_rw("parts_work", &Tuning::parts_work)
      .def_rw("parts_channels", &Tuning::parts_channels)
      .def_rw("last_iterations", &Tuning::last_iterations)
      .def_rw("last_tolerance", &Tuning::last_tolerance)
      .def_rw("drop_share", &Tuning::drop_share)
      .def_rw("prune_ridge_share", &Tuning::prune_ridge_share)
      .def_rw("most_prune_ridge", &Tuning::most_prune_ridge)
      .def_rw("prune_rows", &Tuning::prune_rows)
      .def_rw("prune_nats", &Tuning::prune_nats)
      .def_rw("prune_iterations", &Tuning::prune_iterations)
      .def_rw("prune_tolerance", &Tuning::prune_tolerance)
      .def_rw("weight_per_bin", &Tuning::weight_per_bin)
      .def_rw("min_curve_bins", &Tuning::min_curve_bins)
      .def_rw("max_curve_bins", &Tuning::max_curve_bins)
      .def_rw("min_map_bins", &Tuning::min_map_bins)
      .def_rw("max_map_bins", &Tuning::max_map_bins)
      .def_rw("grid_many_classes", &Tuning::grid_many_classes)
      .def_rw("grid_bin_rows", &Tuning::grid_bin_rows)
      .def_rw("grid_categories", &Tuning::grid_categories)
      .def_rw("grid_ridge", &Tuning::grid_ridge)
      .def_rw("grid_least", &Tuning::grid_least)
      .def_rw("grid_step", &Tuning::grid_step)
      .def_rw("grid_rate", &Tuning::grid_rate)
      .def_rw("grid_fast_rate", &Tuning::grid_fast_rate)
      .def_rw("grid_many_weight", &Tuning::grid_many_weight)
      .def_rw("grid_few_levels", &Tuning::grid_few_levels)
      .def_rw("grid_levels", &Tuning::grid_levels)
      .def_rw("grid_map_levels", &Tuning::grid_map_levels)
      .def_rw("grid_some_weight", &Tuning::grid_some_weight)
      .def_rw("grid_thresholds", &Tuning::grid_thresholds)
      .def_rw("grid_map_price", &Tuning::grid_map_price)
      .def_rw("grid_rounds", &Tuning::grid_rounds)
      .def_rw("grid_last_rounds", &Tuning::grid_last_rounds)
      .def_rw("grid_patience", &Tuning::grid_patience)
      .def_rw("grid_better", &Tuning::grid_better)
      .def_rw("grid_moving_share", &Tuning::grid_moving_share)
      .def_rw("grid_together", &Tuning::grid_together)
      .def_rw("grid_choice_work", &Tuning::grid_choice_work)
      .def_rw("grid_work", &Tuning::grid_work)
      .def_rw("grid_least_rows", &Tuning::grid_least_rows)
      .def_rw("grid_validation_rows", &Tuning::grid_validation_rows)
      .def_rw("grid_columns", &Tuning::grid_columns)
      .def_rw("grid_pair_columns", &Tuning::grid_pair_columns)
      .def_rw("grid_scan_rows", &Tuning::grid_scan_rows)
      .def_rw("grid_scan_work", &Tuning::grid_scan_work)
      .def_rw("grid_scan_bins", &Tuning::grid_scan_bins)
      .def_rw("grid_candidates", &Tuning::grid_candidates)
      .def_rw("weight_per_map", &Tuning::weight_per_map)
      .def_rw("grid_rank_thresholds", &Tuning::grid_rank_thresholds)
      .def_rw("grid_few_maps", &Tuning::grid_few_maps)
      .def_rw("grid_late_maps", &Tuning::grid_late_maps)
      .def_rw("grid_slack", &Tuning::grid_slack)
      .def_rw("grid_spare", &Tuning::grid_spare)
      .def_rw("grid_sure", &Tuning::grid_sure)
      .def_rw("grid_prices", &Tuning::grid_prices)
      .def_rw("pack_above", &Tuning::pack_above)
      .def_rw("share_firings", &Tuning::share_firings)
      .def_rw("share_linear", &Tuning::share_linear)
      .def_rw("share_search", &Tuning::share_search)
      .def_rw("share_scan", &Tuning::share_scan)
      .def_rw("share_refit", &Tuning::share_refit)
      .def_rw("share_grid", &Tuning::share_grid)
      .def_rw("share_boost", &Tuning::share_boost);
  m.attr("TUNING") = nb::cast(&tuning(), nb::rv_policy::reference);
  nb::class_<RuleOptions>(m, "RuleOptions")
      .def("__init__", &make_options, nb::kw_only(), "max_rules"_a = 150, "max_conditions"_a = 3, "prune"_a = 0.0015,
           "min_rule_worth"_a = 0.0, "effort"_a = 1, "monotone"_a = std::vector<int>{}, "words"_a.none() = nb::none(),
           "curves_only"_a = std::vector<int>{}, "n_threads"_a = 1, "seed"_a = 0, "max_maps"_a = 25,
           "tuning"_a.none() = nb::none(), "last_stage_ignores_groups"_a = false)
      .def_ro("last_stage_ignores_groups", &RuleOptions::last_stage_ignores_groups);
  m.def("grow_rules", &grow_rules, "sample"_a, "options"_a, "report"_a.none(), "judge"_a.none() = nb::none());
  m.def("stratified_parts", &stratified_parts, "sample"_a, "n_parts"_a, "turn"_a = 0);
  m.def("refit_rules", &refit_rules, "firing"_a, "target"_a, "weight"_a, "sign"_a, "ridge"_a, "offset"_a, "n_threads"_a,
        "is_packed"_a = false);
}

}  // namespace ferl::python
