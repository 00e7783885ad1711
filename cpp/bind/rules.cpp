// The door to learning rules, and to its stages for the tests.
#include <algorithm>
#include <numeric>
#include <optional>

#include "bind/array.h"
#include "rules/grow_rules.h"
#include "rules/prune.h"
#include "rules/scan.h"
#include "rules/words.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

using rules::Rule;

constexpr double kNoLimit = 1e300;  // every rule has a ridge of its own

// None, or a tuple of the column and the trapezoid of each word.
std::optional<std::vector<Condition>> words_of(const nb::object& given, const Sample& sample) {
  if (given.is_none()) return {};
  const auto arrays = nb::cast<nb::tuple>(given);
  require(arrays.size() == 2, "Words are two arrays: their columns and their trapezoids.");
  const auto column = nb::cast<Codes>(arrays[0]);
  const auto ends = nb::cast<CMatrix>(arrays[1]);
  require(ends.shape(0) == column.shape(0) && ends.shape(1) == 4, "Every word needs a column and a trapezoid.");
  check_trapezoids(ends);
  std::vector<Condition> words;
  for (std::size_t t = 0; t < column.shape(0); ++t) {
    const double* own = ends.data() + 4 * t;
    require(column.data()[t] >= 0 && static_cast<std::size_t>(column.data()[t]) < sample.n_columns,
            "A word's column must be one of X.");
    words.push_back({column.data()[t], {own[0], own[1], own[2], own[3]}, 1.0, {}});
  }
  return words;
}

bool is_sign(int sign) { return sign >= -1 && sign <= 1; }

rules::RuleOptions rule_options(const nb::dict& given, const Sample& sample) {
  rules::RuleOptions o;
  o.max_rules = nb::cast<std::size_t>(given["max_rules"]);
  o.max_conditions = nb::cast<std::size_t>(given["max_conditions"]);
  o.prune = nb::cast<double>(given["prune"]);
  for (const auto sign : given["monotone"]) o.monotone.push_back(nb::cast<int>(sign));
  if (given.contains("min_rule_worth")) o.min_rule_worth = nb::cast<double>(given["min_rule_worth"]);
  if (given.contains("words")) o.words = words_of(given["words"], sample);
  o.n_threads = checked_threads(given);
  o.seed = nb::cast<std::uint64_t>(given["seed"]);
  require(o.max_rules > 0 && o.max_conditions >= 1 && o.max_conditions <= 3,
          "max_rules must be positive, and max_conditions 1, 2 or 3.");
  require(o.monotone.empty() || (o.monotone.size() == sample.n_columns && sample.n_classes == 2),
          "monotone needs one number per column of X, and two classes.");
  require(std::all_of(o.monotone.begin(), o.monotone.end(), is_sign), "Every number of monotone must be -1, 0 or 1.");
  require(o.prune >= 0 && o.min_rule_worth >= 0, "prune and min_rule_worth must not be negative.");
  return o;
}

// A chain of nodes from the root for each rule.
nb::dict chains(const std::vector<Rule>& rules) {
  std::vector<NodeId> parent{-1}, rule_node;
  std::vector<Column> feature{-1};
  std::vector<double> trapezoid(kEverything.begin(), kEverything.end()), share{1.0}, category;
  std::vector<std::int32_t> category_start{0, 0};
  for (const Rule& rule : rules) {
    NodeId above = 0;
    for (const Condition& condition : rule) {
      parent.push_back(above);
      above = static_cast<NodeId>(parent.size() - 1);
      feature.push_back(condition.column);
      trapezoid.insert(trapezoid.end(), condition.ends.begin(), condition.ends.end());
      share.push_back(condition.share);
      category.insert(category.end(), condition.category.begin(), condition.category.end());
      category_start.push_back(static_cast<std::int32_t>(category.size()));
    }
    rule_node.push_back(above);
  }
  const std::size_t n = parent.size();
  nb::dict out;
  out["parent"] = vector_of(parent);
  out["feature"] = vector_of(feature);
  out["trapezoid"] = to_numpy(std::move(trapezoid), {n, 4});
  out["share"] = vector_of(share);
  out["category_start"] = vector_of(category_start);
  out["category"] = vector_of(category);
  out["rule_node"] = vector_of(rule_node);
  return out;
}

nb::dict grow_rules(const Sample& sample, const nb::dict& given, const nb::object& report) {
  const auto options = rule_options(given, sample);
  auto monitor = python_monitor(report);
  rules::LearnedRules found;
  {
    nb::gil_scoped_release no_gil;
    found = rules::grow_rules(sample, options, monitor);
  }
  const std::size_t n_rules = found.rules.size();
  nb::dict out = chains(found.rules);
  out["weight"] = to_numpy(std::move(found.weight), {n_rules, static_cast<std::size_t>(sample.n_classes)});
  out["prior"] = vector_of(found.prior);
  out["ridge"] = vector_of(found.ridge);
  out["n_grown"] = found.n_grown;
  out["n_averaged"] = found.n_averaged;
  out["divergence"] = found.divergence;
  nb::list choices;
  for (const rules::Choice& own : found.choices)
    choices.append(nb::make_tuple(own.loss, own.start == 0 ? "linear" : "empty", own.n_rules, own.ridge, own.scale));
  out["choices"] = choices;
  return out;
}

// The knots of each column; none where it is constant or holds categories.
nb::list rule_knots(const Sample& sample) {
  nb::list out;
  const std::size_t most = rules::knots_per_feature(sample);
  for (std::size_t j = 0; j < sample.n_columns; ++j)
    out.append(vector_of(sample.n_categories[j] > 0 ? std::vector<double>{}
                                                    : rules::choose_knots(sample, static_cast<Column>(j), most)));
  return out;
}

// The best condition of each feature that can be added to rules which fire by `base`: gains and conditions.
nb::dict scan_rules(const Sample& sample, const CMatrix& gradient, const Vector& hessian, const Vector& base,
                   const Codes& monotone, int sign, const nb::object& given_words) {
  const std::size_t n = sample.n_rows, n_channels = gradient.shape(1);
  require(gradient.shape(0) == n && hessian.shape(0) == n && base.shape(0) == n && n_channels > 0,
          "gradient, hessian and base need one row per row of the sample.");
  require(monotone.shape(0) == sample.n_columns && all_of(monotone, is_sign) && is_sign(sign),
          "monotone needs one number per column, and it and sign must be -1, 0 or 1.");
  require(n_channels <= rules::kMaxGradients, "gradient may have at most 32 columns.");
  ThreadPool pool(1, [] {});
  const auto words = words_of(given_words, sample);
  const rules::Grid grid = words ? rules::make_word_grid(sample, *words, n, pool) : rules::make_grid(sample, n, pool);
  rules::Scanner scanner(grid, copy(monotone));
  std::vector<Row> rows(n);
  std::vector<std::size_t> features(grid.features.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::iota(features.begin(), features.end(), 0);
  scanner.set_rows(rows);
  scanner.set_residuals(std::vector<float>(gradient.data(), gradient.data() + n * n_channels), n_channels,
                        std::vector<float>(hessian.data(), hessian.data() + n), 1.0, sample.n_classes, {});
  const std::vector<float> firing(base.data(), base.data() + n);
  const auto found = scanner.scan(firing, sign, features, features.size() + 1, pool);
  std::vector<Rule> rules;
  std::vector<double> gain;
  for (const std::size_t f : features)
    for (const bool up : {true, false}) {
      const double own = up ? found[f].up.gain : found[f].down.gain;
      if (!(own > 0)) continue;
      rules.push_back({rules::condition_of(grid.features[f], found[f], up)});
      gain.push_back(own);
    }
  nb::dict out = chains(rules);
  out["gain"] = vector_of(gain);
  return out;
}

// The first rules of a path on all rows.
nb::dict rule_path(const Sample& sample, bool linear, double tau, std::size_t max_conditions, std::size_t n_rules) {
  require(max_conditions >= 1 && max_conditions <= 3 && tau >= 0, "max_conditions must be 1, 2 or 3, and tau positive.");
  std::vector<Row> rows(sample.n_rows);
  std::iota(rows.begin(), rows.end(), 0);
  ThreadPool pool(1, [] {});
  const rules::Grid grid = rules::make_grid(sample, sample.n_rows, pool);
  rules::Path path(sample, grid, rows, {}, {{linear, tau}, max_conditions, {}, 0}, pool);
  path.grow_to(n_rules);
  return chains(path.rules());
}

// Arrays of rows and rules as the core's refits take them.
class FitArrays {
 public:
  FitArrays(const CMatrix& firing, const CMatrix& target, const Vector& weight, const Codes& sign)
      : n_classes_(static_cast<int>(target.shape(1))), n_(rules::padded(firing.shape(0))) {
    const std::size_t n = firing.shape(0), n_rules = firing.shape(1), e = rules::n_channels(n_classes_);
    require(target.shape(0) == n && weight.shape(0) == n && sign.shape(0) == n_rules && n > 0,
            "firing, target and weight need as many rows, and sign one number per rule.");
    require(n_classes_ >= 1 && all_of(sign, is_sign) && (n_classes_ == 2 || all_of(sign, [](int s) { return s == 0; })),
            "target needs a column per class, and sign must be -1, 0 or 1, and 0 unless there are two classes.");
    weight_.assign(weight.data(), weight.data() + n);
    weight_.resize(n_, 0.0f);
    target_.assign(e * n_, 0.0f);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < e; ++c)
        target_[c * n_ + i] = static_cast<float>(target.data()[i * target.shape(1) + (n_classes_ == 2 ? 1 : c)]);
    for (std::size_t k = 0; k < n_rules; ++k) {
      firing_.emplace_back(n_, 0.0f);
      for (std::size_t i = 0; i < n; ++i) firing_[k][i] = static_cast<float>(firing.data()[i * n_rules + k]);
    }
    for (std::size_t k = 0; k < n_rules; ++k)
      columns.push_back({firing_[k].data(), rules::firing_moments(firing_[k].data(), weight_.data(), n_),
                         sign.data()[k]});
  }
  // Scores that come before those of the rules: [row][class].
  void set_offset(const CMatrix& offset) {
    const std::size_t n_given = static_cast<std::size_t>(n_classes_), e = rules::n_channels(n_classes_);
    require(offset.shape(0) <= n_ && rules::padded(offset.shape(0)) == n_ && offset.shape(1) == n_given,
            "offset needs one row per row of firing and one column per class.");
    offset_.assign(e * n_, 0.0f);
    for (std::size_t i = 0; i < offset.shape(0); ++i) {
      const double* own = offset.data() + i * n_given;
      for (std::size_t c = 0; c < e; ++c)
        offset_[c * n_ + i] = static_cast<float>(n_classes_ == 2 ? own[1] - own[0] : own[c]);
    }
  }
  void pack() {
    packed_.reserve(firing_.size());
    for (std::size_t k = 0; k < firing_.size(); ++k) {
      packed_.emplace_back(firing_[k].data(), n_);
      columns[k].packed = &packed_[k];
    }
  }
  rules::FitRows rows() const {
    return {n_, n_classes_, weight_.data(), nullptr, target_.data(), offset_.empty() ? nullptr : offset_.data()};
  }
  std::vector<rules::RuleColumn> columns;

 private:
  int n_classes_;
  std::size_t n_;
  std::vector<float> weight_, target_, offset_;
  std::vector<std::vector<float>> firing_;
  std::vector<rules::PackedFiring> packed_;
};

nb::dict weights_by_class(const rules::Weights& weights, std::size_t n_rules, int n_classes) {
  nb::dict out;
  out["weight"] = to_numpy(rules::per_class(weights.v, n_classes), {n_rules, static_cast<std::size_t>(n_classes)});
  out["prior"] = vector_of(rules::per_class(weights.b, n_classes));
  return out;
}

// ridge: of each rule's standardised weight. is_packed: whether firings are packed, as those of many rows are in a fit.
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
    objective = rules::Refit(given.rows(), given.columns, pool).fit({kNoLimit, 200, 1e-10}, weights);
  }
  nb::dict out = weights_by_class(weights, n_rules, n_classes);
  out["objective"] = objective;
  return out;
}

nb::dict prune_rules(const CMatrix& firing, const Vector& row_weight, const CMatrix& weight, const Vector& prior,
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
      rules::prune(given.rows(), given.columns, weights, {tolerance, max_rules, worth, ridge}, pool);
  nb::dict out = weights_by_class(pruned.weights, pruned.kept.size(), static_cast<int>(n_classes));
  out["kept"] = vector_of(std::vector<std::int32_t>(pruned.kept.begin(), pruned.kept.end()));
  out["divergence"] = pruned.divergence;
  return out;
}

}  // namespace

void bind_rules(nb::module_& m) {
  m.def("grow_rules", &grow_rules, "sample"_a, "options"_a, "report"_a.none());
  m.def("rule_knots", &rule_knots, "sample"_a);
  m.def("scan_rules", &scan_rules, "sample"_a, "gradient"_a, "hessian"_a, "base"_a, "monotone"_a, "sign"_a,
        "words"_a.none() = nb::none());
  m.def("rule_path", &rule_path, "sample"_a, "linear"_a, "tau"_a, "max_conditions"_a, "n_rules"_a);
  m.def("refit_rules", &refit_rules, "firing"_a, "target"_a, "weight"_a, "sign"_a, "ridge"_a,
        "offset"_a, "n_threads"_a, "is_packed"_a = false);
  m.def("prune_rules", &prune_rules, "firing"_a, "row_weight"_a, "weight"_a, "prior"_a, "tolerance"_a, "max_rules"_a,
        "ridge"_a, "worth"_a = 0.0);
}

}  // namespace ferl::python
