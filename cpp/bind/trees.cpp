// The door to growing trees: from a sample of the rows to the conditions.
#include <nanobind/stl/vector.h>

#include <new>

#include "bind/array.h"
#include "trees/grow_splits.h"
#include "trees/grow_words.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

// A hair less than was asked for, so that rounding does not refuse two rows a leaf weight of two.
double hair_below(double weight) { return weight * (1 - 1e-10); }

void make_split_options(SplitOptions* place, std::size_t max_rules, std::size_t max_depth, double min_leaf_weight,
                        double min_gain, int patience, double min_coverage, const std::string& criterion,
                        int n_resamples, const std::string& band, double band_scale, bool two_mode,
                        std::size_t n_exemplars, std::size_t n_banded_features, std::vector<double> class_unit,
                        std::vector<int> monotone, int n_threads) {
  require(band == "mean_std" || band == "median_mad", "The band must be mean_std or median_mad.");
  require(criterion == "gini" || criterion == "entropy" || criterion == "cci",
          "The criterion must be gini, entropy or cci.");
  require(n_resamples > 0 && n_resamples <= 1000, "n_resamples must be between 1 and 1000.");
  require(max_rules > 0 && max_depth > 0 && n_banded_features > 0,
          "max_rules, max_depth and n_banded_features must be positive.");
  require(band_scale >= 0 && min_leaf_weight > 0, "band_scale and min_leaf_weight must be positive.");
  require(std::all_of(class_unit.begin(), class_unit.end(), [](double unit) { return unit > 0; }),
          "Every class_unit must be above 0.");
  const BandForm form = band == "mean_std" ? BandForm::mean_std : BandForm::median_mad;
  const Criterion by = criterion == "gini"      ? Criterion::gini
                       : criterion == "entropy" ? Criterion::entropy
                                                : Criterion::cci;
  new (place) SplitOptions{{form, by, band_scale, two_mode, hair_below(min_leaf_weight)},
                           max_rules,
                           max_depth,
                           min_gain,
                           patience,
                           min_coverage,
                           n_resamples,
                           n_banded_features,
                           std::move(class_unit),
                           std::move(monotone),
                           n_exemplars,
                           checked_threads(n_threads)};
}

void make_word_options(WordOptions* place, std::size_t max_rules, std::size_t max_depth, double min_leaf_weight,
                       double min_gain, int patience, double min_coverage, double min_rule_worth, double soft_share,
                       int n_threads) {
  require(max_rules > 0 && max_depth > 0, "max_rules and max_depth must be positive.");
  new (place)
      WordOptions{max_rules,      max_depth,  hair_below(min_leaf_weight), min_gain, patience, hair_below(min_coverage),
                  min_rule_worth, soft_share, checked_threads(n_threads)};
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
  for (const auto& node_categories : grown.category) {
    category.insert(category.end(), node_categories.begin(), node_categories.end());
    category_start.push_back(static_cast<std::int32_t>(category.size()));
  }
  const std::size_t n_memberships = category.size();
  out["category"] = to_numpy(std::move(category), {n_memberships});
  out["category_start"] = to_numpy(std::move(category_start), {n + 1});
  out["cuts"] = to_numpy(std::move(grown.cuts), {n, 3});
  out["key_bound"] = to_numpy(std::move(grown.key_bound), {n});
  return out;
}

nb::dict grow_tree(const Sample& sample, const SplitOptions& options, const nb::object& report) {
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
                    const Codes& term_is_complement, const WordOptions& options, const nb::object& report) {
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
  nb::class_<SplitOptions>(m, "SplitOptions")
      .def("__init__", &make_split_options, nb::kw_only(), "max_rules"_a = 150, "max_depth"_a = 12,
           "min_leaf_weight"_a = 2.0, "min_gain"_a = 0.0, "patience"_a = 0, "min_coverage"_a = 0.0,
           "criterion"_a = "gini", "n_resamples"_a = 25, "band"_a = "mean_std", "band_scale"_a = 1.0,
           "two_mode"_a = true, "n_exemplars"_a = 0, "n_banded_features"_a = 1, "class_unit"_a,
           "monotone"_a = std::vector<int>{}, "n_threads"_a = 1);
  nb::class_<WordOptions>(m, "WordOptions")
      .def("__init__", &make_word_options, nb::kw_only(), "max_rules"_a = 15, "max_depth"_a = 5,
           "min_leaf_weight"_a = 2.0, "min_gain"_a = 0.005, "patience"_a = 3, "min_coverage"_a = 0.0,
           "min_rule_worth"_a = 0.045, "soft_share"_a = 1.0, "n_threads"_a = 1);
  m.def("grow_tree", &grow_tree, "sample"_a, "options"_a, "report"_a.none());
  m.def("grow_words", &grow_words, "sample"_a, "term_feature"_a, "term_trapezoid"_a, "term_is_complement"_a,
        "options"_a, "report"_a.none());
}

}  // namespace ferl::python
