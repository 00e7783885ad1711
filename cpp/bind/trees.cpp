// The door to growth: from a sample of the rows to the conditions of a tree.
#include "bind/array.h"
#include "trees/grow_splits.h"
#include "trees/grow_words.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

SplitOptions split_options(const nb::dict& given) {
  SplitOptions o;
  const auto band = nb::cast<std::string>(given["band"]), criterion = nb::cast<std::string>(given["criterion"]);
  require(band == "mean_std" || band == "median_mad", "The band must be mean_std or median_mad.");
  require(criterion == "gini" || criterion == "entropy" || criterion == "cci",
          "The criterion must be gini, entropy or cci.");
  o.band.form = band == "mean_std" ? BandForm::mean_std : BandForm::median_mad;
  o.band.criterion = criterion == "gini"      ? Criterion::gini
                     : criterion == "entropy" ? Criterion::entropy
                                              : Criterion::cci;
  o.band.scale = nb::cast<double>(given["band_scale"]);
  o.band.two_mode = nb::cast<bool>(given["two_mode"]);
  // A hair less, so that rounding does not refuse two rows a leaf weight of two.
  o.band.min_leaf_weight = nb::cast<double>(given["min_leaf_weight"]) * (1 - 1e-10);
  o.max_rules = nb::cast<std::size_t>(given["max_rules"]);
  o.max_depth = nb::cast<std::size_t>(given["max_depth"]);
  o.min_gain = nb::cast<double>(given["min_gain"]);
  o.patience = nb::cast<int>(given["patience"]);
  o.min_coverage = nb::cast<double>(given["min_coverage"]);
  o.n_resamples = nb::cast<int>(given["n_resamples"]);
  o.n_banded = nb::cast<std::size_t>(given["n_banded_features"]);
  for (const auto unit : given["class_unit"]) o.class_unit.push_back(nb::cast<double>(unit));
  for (const auto sign : given["monotone"]) o.monotone.push_back(nb::cast<int>(sign));
  o.n_exemplars = nb::cast<std::size_t>(given["n_exemplars"]);
  o.n_threads = checked_threads(given);
  require(o.n_resamples > 0 && o.n_resamples <= 1000, "n_resamples must be between 1 and 1000.");
  require(o.max_rules > 0 && o.max_depth > 0 && o.n_banded > 0,
          "max_rules, max_depth and n_banded_features must be positive.");
  require(o.band.scale >= 0 && o.band.min_leaf_weight > 0, "band_scale and min_leaf_weight must be positive.");
  require(std::all_of(o.class_unit.begin(), o.class_unit.end(), [](double unit) { return unit > 0; }),
          "Every class_unit must be above 0.");
  return o;
}

WordOptions word_options(const nb::dict& given) {
  WordOptions o;
  o.max_rules = nb::cast<std::size_t>(given["max_rules"]);
  o.max_depth = nb::cast<std::size_t>(given["max_depth"]);
  o.min_leaf_weight = nb::cast<double>(given["min_leaf_weight"]) * (1 - 1e-10);
  o.min_gain = nb::cast<double>(given["min_gain"]);
  o.patience = nb::cast<int>(given["patience"]);
  o.min_coverage = nb::cast<double>(given["min_coverage"]) * (1 - 1e-10);
  o.min_rule_worth = nb::cast<double>(given["min_rule_worth"]);
  o.soft_share = nb::cast<double>(given["soft_share"]);
  o.n_threads = checked_threads(given);
  require(o.max_rules > 0 && o.max_depth > 0, "max_rules and max_depth must be positive.");
  return o;
}

nb::dict grown_arrays(GrownTree grown) {
  const std::size_t n = grown.parent.size();
  nb::dict out;
  out["parent"] = to_numpy(std::move(grown.parent), {n});
  out["feature"] = to_numpy(std::move(grown.column), {n});
  out["trapezoid"] = to_numpy(std::move(grown.trapezoid), {n, 4});
  out["gain"] = to_numpy(std::move(grown.gain), {n});
  out["share"] = to_numpy(std::move(grown.share), {n});
  std::vector<double> category;
  std::vector<std::int32_t> category_start{0};
  for (const auto& own : grown.category) {
    category.insert(category.end(), own.begin(), own.end());
    category_start.push_back(static_cast<std::int32_t>(category.size()));
  }
  const std::size_t n_memberships = category.size();
  out["category"] = to_numpy(std::move(category), {n_memberships});
  out["category_start"] = to_numpy(std::move(category_start), {n + 1});
  out["cuts"] = to_numpy(std::move(grown.cuts), {n, 3});
  out["key_bound"] = to_numpy(std::move(grown.key_bound), {n});
  return out;
}

nb::dict grow_tree(const Sample& sample, const nb::dict& given, const nb::object& report) {
  const auto options = split_options(given);
  require(options.class_unit.size() == static_cast<std::size_t>(sample.n_classes),
          "class_unit needs one number per class.");
  require(options.monotone.empty() || (options.monotone.size() == sample.n_columns && sample.n_classes == 2),
          "monotone needs one number per column of X, and two classes.");
  auto monitor = python_monitor(report);
  GrownTree grown;
  {
    nb::gil_scoped_release no_gil;
    grown = grow_splits(sample, options, monitor);
  }
  return grown_arrays(std::move(grown));
}

nb::dict grow_words(const Sample& sample, const Codes& term_feature, const CMatrix& term_trapezoid,
                    const Codes& term_is_complement, const nb::dict& given, const nb::object& report) {
  const std::size_t n_terms = term_feature.shape(0);
  require(term_trapezoid.shape(0) == n_terms && term_trapezoid.shape(1) == 4 && term_is_complement.shape(0) == n_terms,
          "Every term needs a feature, a trapezoid, and whether it is a complement.");
  check_trapezoids(term_trapezoid);
  std::vector<Term> terms;
  for (std::size_t t = 0; t < n_terms; ++t) {
    const Column column = term_feature.data()[t];
    require(column >= 0 && static_cast<std::size_t>(column) < sample.n_columns,
            "A term's feature must be a column of X.");
    const double* ends = term_trapezoid.data() + 4 * t;
    terms.push_back({column, {ends[0], ends[1], ends[2], ends[3]}, term_is_complement.data()[t] != 0});
  }
  const auto options = word_options(given);
  auto monitor = python_monitor(report);
  GrownTree grown;
  {
    nb::gil_scoped_release no_gil;
    grown = ferl::grow_words(sample, terms, options, monitor);
  }
  return grown_arrays(std::move(grown));
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("grow_tree", &grow_tree, "sample"_a, "options"_a, "report"_a.none());
  m.def("grow_words", &grow_words, "sample"_a, "term_feature"_a, "term_trapezoid"_a, "term_is_complement"_a,
        "options"_a, "report"_a.none());
}

}  // namespace ferl::python
