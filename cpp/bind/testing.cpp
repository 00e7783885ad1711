// Stages of learning and proofs that only tests call, in a module of their own, which no wheel has.
#include <numeric>

#include "bind/array.h"
#include "bind/rule_arrays.h"
#include "bind/tree.h"
#include "proofs/certify.h"
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

void bound_firings(const BoundTree& own, const Matrix& x, double radius, const Vector& scale, bool gated, int n_threads,
                   OutMatrix low, OutMatrix high) {
  own.check_box(x, scale);
  for (const OutMatrix* out : {&low, &high})
    require(out->shape(0) == x.shape(0) && out->shape(1) == own.size(),
            "low and high must have shape (n_rows, n_nodes).");
  nb::gil_scoped_release no_gil;
  ferl::bound_firings(own.tree(), view(x), radius, scale.data(), gated, n_threads, low.data(), high.data());
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
      words ? rules::make_word_grid(sample, *words, n, kTuning, pool) : rules::make_grid(sample, n, kTuning, pool);
  rules::Scanner scanner(grid, copy(monotone), kTuning);
  std::vector<Row> rows(n);
  std::vector<std::size_t> features(grid.features.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::iota(features.begin(), features.end(), 0);
  scanner.set_rows(rows);
  scanner.set_residuals(std::vector<float>(gradient.data(), gradient.data() + n * n_channels), n_channels,
                        std::vector<float>(hessian.data(), hessian.data() + n), 1.0, sample.n_classes, 1.0);
  const std::vector<float> firing(base.data(), base.data() + n);
  const auto found = scanner.scan(firing, sign, features, features.size() + 1, pool);
  std::vector<rules::Rule> found_rules;
  std::vector<double> gain;
  for (const std::size_t f : features)
    for (const bool up : {true, false}) {
      const double own = up ? found[f].up.gain : found[f].down.gain;
      if (!(own > 0)) continue;
      found_rules.push_back({rules::condition_of(grid.features[f], found[f], up)});
      gain.push_back(own);
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
  const rules::Grid grid = rules::make_grid(sample, sample.n_rows, kTuning, pool);
  const rules::Task task{sample, grid, kTuning, pool, max_conditions};
  rules::Path own(task, rows, {}, {linear, tau}, 0);
  own.grow_to(n_rules);
  std::vector<rules::Rule> found;
  for (std::size_t k = 0; k < own.size(); ++k) found.push_back(own.rule(k));
  return chains(found);
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

}  // namespace

}  // namespace ferl::python

NB_MODULE(_core_testing, m) {
  using namespace nanobind::literals;
  namespace own = ferl::python;
  m.doc() = "Stages of the compiled core, for the tests.";
  nanobind::module_::import_("ferl._core");  // whose classes Sample and Tree these functions take
  m.def("resample", &own::resample, "sample"_a, "n_resamples"_a);
  m.def("bound_firings", &own::bound_firings, "tree"_a, "x"_a, "radius"_a, "scale"_a, "gated"_a, "n_threads"_a,
        "low"_a.noconvert(), "high"_a.noconvert());
  m.def("knots", &own::knots, "sample"_a);
  m.def("scan", &own::scan, "sample"_a, "gradient"_a, "hessian"_a, "base"_a, "monotone"_a, "sign"_a,
        "words"_a.none() = nanobind::none());
  m.def("path", &own::path, "sample"_a, "linear"_a, "tau"_a, "max_conditions"_a, "n_rules"_a);
  m.def("prune", &own::prune, "firing"_a, "row_weight"_a, "weight"_a, "prior"_a, "tolerance"_a, "max_rules"_a,
        "ridge"_a, "worth"_a = 0.0);
}
