// Stages of learning and proofs that only tests call, in a separate module, which no wheel has.
#include <numeric>

#include "bind/array.h"
#include "bind/rule_arrays.h"
#include "bind/tree.h"
#include "proofs/certify.h"
#include "rules/grid_boost.h"
#include "rules/grid_merge.h"
#include "rules/path.h"
#include "rules/prune.h"
#include "rules/scan.h"
#include "rules/words.h"
#include "trees/bootstrap.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

const rules::Tuning kTuning;

// For the oracle, which grows its own tree on the same rows and resamples.
nb::object resample(const Sample& sample, int n_resamples) {
  require(n_resamples > 0 && n_resamples <= 1000, "n_resamples must be between 1 and 1000.");
  auto monitor = python_monitor(nb::none());
  ThreadPool pool(1, [&] { monitor.tick(0); });
  const Resamples resamples(sample, n_resamples, pool);
  std::vector<double> counts;
  for (Row i = 0; i < sample.n_rows; ++i)
    for (int b = 0; b < n_resamples; ++b)
      counts.push_back(resamples.counts(b / kLanes, i)[b % kLanes] * resamples.occurrence(i));
  return to_numpy(std::move(counts), {sample.n_rows, static_cast<std::size_t>(n_resamples)});
}

void bound_firings(const BoundTree& bound, const Matrix& x, double radius, const Vector& scale, bool gated,
                   int n_threads, OutMatrix low, OutMatrix high) {
  bound.check_box(x, scale);
  for (const OutMatrix* out : {&low, &high})
    require(out->shape(0) == x.shape(0) && out->shape(1) == bound.size(),
            "low and high must have shape (n_rows, n_nodes).");
  nb::gil_scoped_release no_gil;
  ferl::bound_firings(bound.tree(), view(x), radius, scale.data(), gated, n_threads, low.data(), high.data());
}

// The knots of each column; none where it is constant or holds categories.
nb::list knots(const Sample& sample) {
  nb::list out;
  const std::size_t most = rules::knots_per_feature(sample, kTuning);
  for (std::size_t j = 0; j < sample.n_columns; ++j)
    out.append(vector_of(sample.n_categories[j] > 0
                             ? std::vector<double>{}
                             : rules::choose_knots(sample, static_cast<Column>(j), most, kTuning)));
  return out;
}

// The best condition of each feature that can be added to rules which fire by `base`: gains and conditions.
nb::dict scan(const Sample& sample, const CMatrix& gradient, const Vector& hessian, const Vector& base,
              const Codes& monotone, int sign, const nb::object& given_words) {
  const std::size_t n = sample.n_rows, n_channels = gradient.shape(1);
  require(gradient.shape(0) == n && hessian.shape(0) == n && base.shape(0) == n && n_channels > 0,
          "gradient, hessian and base need one row per row of the sample.");
  require(monotone.shape(0) == sample.n_columns && all_of(monotone, is_sign) && is_sign(sign),
          "monotone needs one number per column, and it and sign must be -1, 0 or 1.");
  require(n_channels <= rules::kMaxGradients, "gradient may have at most 32 columns.");
  ThreadPool pool(1, [] {});
  const auto words = words_of(given_words);
  check_words(words, sample);
  const rules::Grid grid =
      words ? rules::make_word_grid(sample, *words, n, kTuning, pool) : rules::make_grid(sample, n, {}, kTuning, pool);
  rules::Scanner scanner(grid, copy(monotone), kTuning);
  std::vector<Row> rows(n);
  std::vector<std::size_t> features(grid.features.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::iota(features.begin(), features.end(), 0);
  scanner.set_rows(rows);
  scanner.set_residuals(std::vector<float>(gradient.data(), gradient.data() + n * n_channels), n_channels,
                        std::vector<float>(hessian.data(), hessian.data() + n), 1.0, sample.n_classes, 1.0);
  const std::vector<float> firing(base.data(), base.data() + n);
  const auto candidates = scanner.scan(firing, sign, features, features.size() + 1, pool);
  std::vector<rules::Rule> found_rules;
  std::vector<double> gain;
  for (const std::size_t f : features)
    for (const bool up : {true, false}) {
      const double candidate_gain = up ? candidates[f].up.gain : candidates[f].down.gain;
      if (!(candidate_gain > 0)) continue;
      found_rules.push_back({rules::condition_of(grid.features[f], candidates[f], up)});
      gain.push_back(candidate_gain);
    }
  nb::dict out = chains(found_rules);
  out["gain"] = vector_of(gain);
  return out;
}

// The first rules of a path on all rows.
nb::dict path(const Sample& sample, bool linear, double tau, std::size_t max_conditions, std::size_t n_rules) {
  require(max_conditions >= 1 && max_conditions <= 3 && tau >= 0,
          "max_conditions must be 1, 2 or 3, and tau positive.");
  std::vector<Row> rows(sample.n_rows);
  std::iota(rows.begin(), rows.end(), 0);
  ThreadPool pool(1, [] {});
  const rules::Grid grid = rules::make_grid(sample, sample.n_rows, {}, kTuning, pool);
  const rules::Task task{sample, grid, kTuning, pool, max_conditions};
  rules::Path path(task, rows, {}, {linear, tau}, 0);
  path.grow_to(n_rules);
  std::vector<rules::Rule> learned;
  for (std::size_t k = 0; k < path.size(); ++k) learned.push_back(path.rule(k));
  return chains(learned);
}

nb::dict prune(const CMatrix& firing, const Vector& row_weight, const CMatrix& weight, const Vector& prior,
               double tolerance, std::size_t max_rules, double ridge, double worth) {
  const std::size_t n_rules = firing.shape(1), n_classes = prior.shape(0);
  require(weight.shape(0) == n_rules && weight.shape(1) == n_classes && n_classes > 1,
          "weight needs a row per rule and a column per class.");
  const std::vector<double> target(firing.shape(0) * n_classes, 0.0);
  const std::vector<std::int32_t> sign(n_rules, 0);
  const FitArrays given(firing, CMatrix(target.data(), {firing.shape(0), n_classes}), row_weight,
                        Codes(sign.data(), {n_rules}));
  rules::Weights weights{copy(weight), copy(prior)};
  if (n_classes == 2) {
    for (std::size_t k = 0; k < n_rules; ++k) weights.v[k] = weight.data()[2 * k + 1] - weight.data()[2 * k];
    weights.v.resize(n_rules);
    weights.b = {prior.data()[1] - prior.data()[0]};
  }
  ThreadPool pool(1, [] {});
  const rules::Pruned pruned =
      rules::prune(given.rows(), given.columns, weights, {tolerance, max_rules, worth, ridge}, kTuning, pool);
  nb::dict out = weights_by_class(pruned.weights, pruned.kept.size(), static_cast<int>(n_classes));
  out["kept"] = vector_of(std::vector<std::int32_t>(pruned.kept.begin(), pruned.kept.end()));
  out["divergence"] = pruned.divergence;
  return out;
}

// Cuts of each column, and the bin of a map for each bin of a curve.
nb::list grid_bins(const Sample& sample) {
  nb::list out;
  const double weight = std::accumulate(sample.weight.begin(), sample.weight.end(), 0.0);
  for (std::size_t j = 0; j < sample.n_columns; ++j) {
    const rules::Bins bins = rules::make_bins(sample, static_cast<Column>(j), weight, kTuning);
    out.append(nb::make_tuple(bins.column, vector_of(bins.cuts),
                              vector_of(std::vector<std::int32_t>(bins.of_map.begin(), bins.of_map.end()))));
  }
  return out;
}

// kind: curve, category or map. Returns the step, [bin or cell][channel].
nb::object grid_step(const std::string& kind, const CMatrix& g, const CMatrix& h, std::size_t n_second,
                     double threshold, double rate, std::size_t n_levels, int sign) {
  const std::size_t n = g.shape(0), e = g.shape(1);
  require(h.shape(0) == n && h.shape(1) == e && e > 0 && n_second > 0 && n % n_second == 0 && is_sign(sign),
          "g and h need the same shape, lines of n_second cells, and sign must be -1, 0 or 1.");
  const rules::GridSums sums{copy(g), copy(h)};
  const rules::StepOptions options{e,       threshold, rate, kTuning.grid_ridge, kTuning.grid_least, kTuning.grid_step,
                                   n_levels};
  std::vector<double> step;
  if (kind == "map")
    rules::map_step(sums, n / n_second, n_second, options, step);
  else if (kind == "category")
    rules::category_step(sums, n, options, step);
  else
    rules::curve_step(sums, n, sign, options, step);
  return to_numpy(std::move(step), {n, e});
}

// Curves of all columns, then maps of pairs, boosted from p as far as a threshold's number and rounds with it: tables
// and probabilities. pairs: of columns that have bins.
nb::tuple boost_grids(const Sample& sample, const CMatrix& p, const Indices& pairs, const Codes& monotone, double rate,
                      std::size_t n_levels, std::size_t level, std::size_t round, int n_threads) {
  const std::size_t e = rules::n_channels(sample.n_classes);
  require(p.shape(0) == sample.n_rows && p.shape(1) == e && monotone.shape(0) == sample.n_columns,
          "p needs a row per row of the sample and a column per channel, monotone a number per column.");
  ThreadPool pool(n_threads, [] {});
  const auto columns = rules::bin_columns(sample, kTuning, pool);
  std::vector<rules::GridTerm> terms;
  for (std::size_t j = 0; j < columns.size(); ++j)
    terms.push_back(rules::curve_of(columns, j, monotone.data()[columns[j].bins.column]));
  require(all_of(pairs,
                 [&](std::int32_t column) { return column >= 0 && static_cast<std::size_t>(column) < columns.size(); }),
          "pairs must name columns that have bins.");
  for (std::size_t k = 0; k < pairs.size(); k += 2)
    terms.push_back(rules::map_of(columns, static_cast<std::size_t>(pairs.data()[k]),
                                  static_cast<std::size_t>(pairs.data()[k + 1])));
  std::vector<Row> rows(sample.n_rows);
  std::iota(rows.begin(), rows.end(), 0);
  rules::GridRows grid_rows =
      rules::grid_rows(sample, columns, rows, std::vector<float>(p.data(), p.data() + p.size()), pool);
  rules::GridBoost boost(terms, {}, grid_rows, {rate, n_levels}, kTuning, pool);
  boost.up_to({level, round});
  nb::list tables;
  for (const rules::GridTable& table : boost.tables()) tables.append(to_numpy(table, {table.size() / e, e}));
  return nb::make_tuple(tables, to_numpy(grid_rows.p, {sample.n_rows, e}));
}

rules::GridTerm term_of(std::size_t n_cells, std::size_t n_second) {
  require(n_second > 0 && n_cells % n_second == 0, "Lines of n_second cells.");
  return {0, 0, n_second > 1, false, 0, n_cells / n_second, n_second};
}

nb::object merge_grid(const CMatrix& table, const CMatrix& h, std::size_t n_second, double price) {
  require(table.shape(0) == h.shape(0) && table.shape(1) == h.shape(1), "table and h need the same shape.");
  return to_numpy(rules::merged(copy(table), copy(h), term_of(table.shape(0), n_second), table.shape(1), price),
                  {table.shape(0), table.shape(1)});
}

rules::Axes axes_of(const std::string& name) {
  require(name == "both" || name == "first" || name == "second", "axes: both, first or second.");
  return name == "both" ? rules::Axes::kBoth : name == "first" ? rules::Axes::kFirst : rules::Axes::kSecond;
}

// The map without its main effects, and these.
nb::tuple purify_grid(const CMatrix& table, const Vector& weight, std::size_t n_second, const std::string& axes) {
  require(table.shape(0) == weight.shape(0), "weight needs a number per cell.");
  const std::size_t e = table.shape(1), n_first = term_of(table.shape(0), n_second).n_first;
  rules::GridTable purified = copy(table);
  rules::MainEffects moved = rules::purify(purified, copy(weight), n_first, n_second, e, axes_of(axes));
  return nb::make_tuple(to_numpy(std::move(purified), {table.shape(0), e}),
                        to_numpy(std::move(moved.first), {n_first, e}),
                        to_numpy(std::move(moved.second), {n_second, e}));
}

}  // namespace

}  // namespace ferl::python

NB_MODULE(_core_testing, m) {
  using namespace nanobind::literals;
  namespace python = ferl::python;
  m.doc() = "Stages of the compiled core, for the tests.";
  nanobind::module_::import_("ferl._core");  // whose classes Sample and Tree these functions take
  m.def("resample", &python::resample, "sample"_a, "n_resamples"_a);
  m.def("bound_firings", &python::bound_firings, "tree"_a, "x"_a, "radius"_a, "scale"_a, "gated"_a, "n_threads"_a,
        "low"_a.noconvert(), "high"_a.noconvert());
  m.def("knots", &python::knots, "sample"_a);
  m.def("scan", &python::scan, "sample"_a, "gradient"_a, "hessian"_a, "base"_a, "monotone"_a, "sign"_a,
        "words"_a.none() = nanobind::none());
  m.def("path", &python::path, "sample"_a, "linear"_a, "tau"_a, "max_conditions"_a, "n_rules"_a);
  m.def("grid_bins", &python::grid_bins, "sample"_a);
  m.def("grid_step", &python::grid_step, "kind"_a, "g"_a, "h"_a, "n_second"_a, "threshold"_a, "rate"_a, "n_levels"_a,
        "sign"_a = 0);
  m.def("boost_grids", &python::boost_grids, "sample"_a, "p"_a, "pairs"_a, "monotone"_a, "rate"_a, "n_levels"_a,
        "level"_a, "round"_a, "n_threads"_a = 1);
  m.def("merge_grid", &python::merge_grid, "table"_a, "h"_a, "n_second"_a, "price"_a);
  m.def("purify_grid", &python::purify_grid, "table"_a, "weight"_a, "n_second"_a, "axes"_a = "both");
  m.def("prune", &python::prune, "firing"_a, "row_weight"_a, "weight"_a, "prior"_a, "tolerance"_a, "max_rules"_a,
        "ridge"_a, "worth"_a = 0.0);
}
