// The door between Python and the core: shapes, dtypes and names are checked here, and the GIL is released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "canonical.h"
#include "evidence.h"
#include "fire.h"
#include "fit.h"
#include "grow.h"
#include "interval.h"
#include "linguistic.h"
#include "novelty.h"
#include "resample.h"
#include "tree.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using CMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Written to, so never converted: a silent copy would swallow the result.
using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

ferl::MatrixView view(const Matrix& m) { return {m.data(), m.shape(0), m.shape(1), m.stride(0), m.stride(1)}; }

void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

// `n_categories`: for each column, 0 where it holds numbers.
ferl::TableView table_view(const Matrix& x, const Codes& n_categories, const Codes& y, const Vector& weight,
                           int n_classes) {
  require(n_categories.shape(0) == x.shape(1), "n_categories must have one number per column of X.");
  for (std::size_t j = 0; j < x.shape(1); ++j) {
    const int n = n_categories.data()[j];
    const auto table = view(x);
    for (std::size_t i = 0; n > 0 && i < x.shape(0); ++i)
      require(ferl::is_missing(table(i, j)) || (table(i, j) >= 0 && table(i, j) < n),
              "Every category code must be at least 0 and below n_categories.");
  }
  require(x.shape(0) == y.shape(0) && x.shape(0) == weight.shape(0), "X, y and weight must have the same length.");
  require(x.shape(0) < std::numeric_limits<ferl::Row>::max(), "At most 4,294,967,294 rows can be fitted at once.");
  require(std::all_of(y.data(), y.data() + y.shape(0), [=](ferl::Label c) { return c >= 0 && c < n_classes; }),
          "Every class code must be at least 0 and below n_classes.");
  return {view(x), n_categories.data(), y.data(), weight.data(), n_classes};
}

template <class T>
nb::object to_numpy(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.begin(), owner));
}

// Shows progress and lets Ctrl-C through, from code that runs without the GIL.
ferl::Monitor python_monitor(nb::object report) {
  return ferl::Monitor([report](std::size_t progress) {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!report.is_none()) report(progress);
  });
}

ferl::GrowOptions grow_options(const nb::dict& given) {
  ferl::GrowOptions o;
  const auto band = nb::cast<std::string>(given["band"]), criterion = nb::cast<std::string>(given["criterion"]);
  require(band == "mean_std" || band == "median_mad", "The band must be mean_std or median_mad.");
  require(criterion == "gini" || criterion == "cci", "The criterion must be gini or cci.");
  o.band.form = band == "mean_std" ? ferl::BandForm::mean_std : ferl::BandForm::median_mad;
  o.band.criterion = criterion == "gini" ? ferl::Criterion::gini : ferl::Criterion::cci;
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
  o.n_threads = nb::cast<int>(given["n_threads"]);
  return o;
}

ferl::LinguisticOptions linguistic_options(const nb::dict& given) {
  ferl::LinguisticOptions o;
  o.max_rules = nb::cast<std::size_t>(given["max_rules"]);
  o.max_depth = nb::cast<std::size_t>(given["max_depth"]);
  o.min_leaf_weight = nb::cast<double>(given["min_leaf_weight"]) * (1 - 1e-10);
  o.min_gain = nb::cast<double>(given["min_gain"]);
  o.patience = nb::cast<int>(given["patience"]);
  o.min_coverage = nb::cast<double>(given["min_coverage"]) * (1 - 1e-10);
  o.min_rule_worth = nb::cast<double>(given["min_rule_worth"]);
  o.soft_share = nb::cast<double>(given["soft_share"]);
  o.n_threads = nb::cast<int>(given["n_threads"]);
  return o;
}

nb::dict fit(const ferl::TableView& table, std::uint64_t seed, std::size_t growth_rows, const ferl::Grow& grow,
             const nb::dict& given, const nb::object& report) {
  const auto n_exemplars = nb::cast<std::size_t>(given["n_exemplars"]);
  const auto n_threads = nb::cast<int>(given["n_threads"]);
  auto monitor = python_monitor(report);
  ferl::FittedTree fitted;
  {
    nb::gil_scoped_release no_gil;
    fitted = ferl::fit(table, seed, growth_rows, n_exemplars, grow, n_threads, monitor);
  }
  const std::size_t n = fitted.grown.parent.size();
  nb::dict out;
  out["parent"] = to_numpy(std::move(fitted.grown.parent), {n});
  out["feature"] = to_numpy(std::move(fitted.grown.column), {n});
  out["trapezoid"] = to_numpy(std::move(fitted.grown.trapezoid), {n, 4});
  out["support"] = to_numpy(std::move(fitted.support), {n, 2});
  out["class_weight"] = to_numpy(std::move(fitted.class_weight), {n, static_cast<std::size_t>(table.n_classes)});
  out["gain"] = to_numpy(std::move(fitted.grown.gain), {n});
  out["share"] = to_numpy(std::move(fitted.grown.share), {n});
  std::vector<double> category;
  std::vector<std::int32_t> category_start{0};
  for (const auto& own : fitted.grown.category) {
    category.insert(category.end(), own.begin(), own.end());
    category_start.push_back(static_cast<std::int32_t>(category.size()));
  }
  const std::size_t n_memberships = category.size();
  out["category"] = to_numpy(std::move(category), {n_memberships});
  out["category_start"] = to_numpy(std::move(category_start), {n + 1});
  out["cuts"] = to_numpy(std::move(fitted.grown.cuts), {n, 3});
  const std::size_t d = table.x.n_columns, n_kept = fitted.exemplar_row.size() / d;
  out["mean"] = to_numpy(std::move(fitted.mean), {n, d});
  out["variance"] = to_numpy(std::move(fitted.variance), {n, d});
  out["exemplar"] = to_numpy(std::move(fitted.exemplar), {n, fitted.n_exemplars});
  out["exemplar_row"] = to_numpy(std::move(fitted.exemplar_row), {n_kept, d});
  out["n_growth_rows"] = fitted.n_growth_rows;
  return out;
}

nb::dict fit_tree(const Matrix& x, const Codes& n_categories, const Codes& y, const Vector& weight, int n_classes, std::uint64_t seed,
                  std::size_t growth_rows, const nb::dict& given, const nb::object& report) {
  const auto options = grow_options(given);
  require(options.class_unit.size() == static_cast<std::size_t>(n_classes), "class_unit needs one number per class.");
  require(options.monotone.empty() || (options.monotone.size() == x.shape(1) && n_classes == 2),
          "monotone needs one number per column of X, and two classes.");
  const auto grow = [&](const ferl::Sample& sample, ferl::Monitor& monitor) {
    return ferl::grow(sample, options, monitor);
  };
  return fit(table_view(x, n_categories, y, weight, n_classes), seed, growth_rows, grow, given, report);
}

nb::dict fit_linguistic(const Matrix& x, const Codes& n_categories, const Codes& y, const Vector& weight, int n_classes, std::uint64_t seed,
                        std::size_t growth_rows, const Codes& term_feature, const CMatrix& term_trapezoid,
                        const Codes& term_is_complement, const nb::dict& given, const nb::object& report) {
  const std::size_t n_terms = term_feature.shape(0);
  require(term_trapezoid.shape(0) == n_terms && term_trapezoid.shape(1) == 4 && term_is_complement.shape(0) == n_terms,
          "Every term needs a feature, a trapezoid, and whether it is a complement.");
  std::vector<ferl::Term> terms;
  for (std::size_t t = 0; t < n_terms; ++t) {
    const ferl::Column column = term_feature.data()[t];
    require(column >= 0 && static_cast<std::size_t>(column) < x.shape(1), "A term's feature must be a column of X.");
    const double* ends = term_trapezoid.data() + 4 * t;
    terms.push_back({column, {ends[0], ends[1], ends[2], ends[3]}, term_is_complement.data()[t] != 0});
  }
  const auto options = linguistic_options(given);
  const auto grow = [&](const ferl::Sample& sample, ferl::Monitor& monitor) {
    return ferl::grow_linguistic(sample, terms, options, monitor);
  };
  return fit(table_view(x, n_categories, y, weight, n_classes), seed, growth_rows, grow, given, report);
}

// For the oracle, which grows its own tree on the same rows and resamples.
nb::tuple resample(const Matrix& x, const Codes& n_categories, const Codes& y, const Vector& weight, int n_classes, std::uint64_t seed,
                   std::size_t growth_rows, int n_resamples) {
  const auto table = table_view(x, n_categories, y, weight, n_classes);
  auto monitor = python_monitor(nb::none());
  const auto canonical = ferl::canonical_rows(table, seed, monitor);
  const auto sample = ferl::take_rows(table, canonical, 0, std::min(growth_rows, canonical.row.size()));
  const ferl::Resamples resamples(sample, n_resamples, monitor);
  std::vector<double> counts;
  for (ferl::Row i = 0; i < sample.n_rows; ++i)
    for (int b = 0; b < n_resamples; ++b)
      counts.push_back(resamples.counts(b / ferl::kLanes, i)[b % ferl::kLanes] * resamples.occurrence(i));
  const std::vector<ferl::Row> rows(canonical.row.begin(), canonical.row.begin() + sample.n_rows);
  return nb::make_tuple(to_numpy(rows, {sample.n_rows}), to_numpy(sample.weight, {sample.n_rows}),
                        to_numpy(counts, {sample.n_rows, static_cast<std::size_t>(n_resamples)}));
}

class BoundTree {
 public:
  // `category_start`: [node], and the end: where each node's memberships of categories begin in `category`.
  BoundTree(const Codes& parent, const Codes& feature, const CMatrix& trapezoid, const Vector& share,
            const Codes& category_start, const Vector& category, const CMatrix& support, double margin)
      : tree_(make(parent, feature, trapezoid, share, category_start, category)) {
    require(support.shape(0) == tree_.size() && support.shape(1) == 2, "support must have shape (n_nodes, 2).");
    for (std::size_t o = 1; o < tree_.size(); ++o) {
      tree_.nodes[o].gate = ferl::Gate(support.data()[2 * o], support.data()[2 * o + 1], margin);
      n_columns_ = std::max(n_columns_, static_cast<std::size_t>(tree_.nodes[o].column) + 1);
    }
  }

  void combine(const CMatrix& consequent, const Vector& reliability, const Matrix& x, const std::string& rule,
               bool all_nodes, bool gated, int n_threads, OutMatrix belief, OutVector ignorance,
               OutVector conflict) const {
    check(x);
    const std::size_t n_classes = consequent.shape(1);
    check_sources(consequent, reliability);
    require(belief.shape(0) == x.shape(0) && belief.shape(1) == n_classes && ignorance.shape(0) == x.shape(0) &&
                conflict.shape(0) == x.shape(0), "The outputs must have one row per row of X.");
    const std::vector<double> p = copy(consequent), r = copy(reliability);
    const ferl::EvidenceOptions options{rule_named(rule), all_nodes, gated, n_threads};
    nb::gil_scoped_release no_gil;
    ferl::combine_evidence(tree_, p, r, static_cast<int>(n_classes), view(x), options,
                           {belief.data(), ignorance.data(), conflict.data()});
  }

  void fire(const Matrix& x, bool gated, int n_threads, OutMatrix out) const {
    check(x);
    require(out.shape(0) == x.shape(0) && out.shape(1) == tree_.size(), "out must have shape (n_rows, n_nodes).");
    nb::gil_scoped_release no_gil;
    ferl::fire_nodes(tree_, view(x), gated, n_threads, out.data());
  }

  void neighbour_distance(const CMatrix& exemplar_row,
                          const nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig>& exemplar,
                          const Vector& centre, const Vector& per_unit, const Codes& n_categories, const Matrix& x,
                          int n_threads,
                          OutMatrix out) const {
    check(x);
    const std::size_t d = x.shape(1);
    require(centre.shape(0) == d && per_unit.shape(0) == d && n_categories.shape(0) == d && exemplar_row.shape(1) == d &&
                exemplar.shape(0) == tree_.size(),
            "Shapes of exemplars, centre and per_unit must be those of the tree and of X.");
    require(out.shape(0) == x.shape(0) && (out.shape(1) == 1 || out.shape(1) == d),
            "out must have one column, or one for each feature.");
    require(std::all_of(exemplar.data(), exemplar.data() + exemplar.size(),
                        [&](ferl::NodeId e) { return -1 <= e && e < static_cast<ferl::NodeId>(exemplar_row.shape(0)); }),
            "Every exemplar must be a row of exemplar_row.");
    nb::gil_scoped_release no_gil;
    const ferl::Exemplars exemplars(tree_, exemplar.data(), exemplar.shape(1), exemplar_row.data(),
                                    {centre.data(), per_unit.data(), n_categories.data(), d});
    exemplars.distance(tree_, view(x), n_threads, out.shape(1), out.data());
  }

  void residual(const CMatrix& mean, const CMatrix& precision, const Matrix& x, int n_threads, OutMatrix out) const {
    check(x);
    for (const auto* matrix : {&mean, &precision})
      require(matrix->shape(0) == tree_.size() && matrix->shape(1) == x.shape(1),
              "mean and precision must have shape (n_nodes, n_features).");
    require(out.shape(0) == x.shape(0) && out.shape(1) == x.shape(1), "out must have the shape of X.");
    nb::gil_scoped_release no_gil;
    ferl::residual(tree_, view(x), mean.data(), precision.data(), n_threads, out.data());
  }

  void support_deficit(const Matrix& x, int n_threads, OutMatrix out) const {
    check(x);
    require(out.shape(0) == x.shape(0) && out.shape(1) == x.shape(1), "out must have the shape of X.");
    nb::gil_scoped_release no_gil;
    ferl::support_deficit(tree_, view(x), n_threads, out.data());
  }

  void bound(const Matrix& x, double radius, const Vector& scale, bool gated, int n_threads, OutMatrix low,
             OutMatrix high) const {
    check_box(x, scale);
    require(low.shape(0) == x.shape(0) && low.shape(1) == tree_.size() && high.shape(0) == x.shape(0) &&
                high.shape(1) == tree_.size(), "low and high must have shape (n_rows, n_nodes).");
    nb::gil_scoped_release no_gil;
    ferl::bound_firings(tree_, view(x), radius, scale.data(), gated, n_threads, low.data(), high.data());
  }

  void certified_radius(const CMatrix& consequent, const Vector& reliability, const Matrix& x, const Codes& label,
                        const Vector& scale, const std::string& rule, bool all_nodes, bool gated, int n_threads,
                        OutVector out) const {
    check_box(x, scale);
    check_sources(consequent, reliability);
    const int n_classes = static_cast<int>(consequent.shape(1));
    require(label.shape(0) == x.shape(0) && out.shape(0) == x.shape(0), "label and out need one number per row of X.");
    require(std::all_of(label.data(), label.data() + label.size(), [=](int c) { return c >= 0 && c < n_classes; }),
            "Every label must be at least 0 and below n_classes.");
    const ferl::EvidenceOptions options{rule_named(rule), all_nodes, gated, n_threads};
    require(options.rule == ferl::Rule::dempster || options.rule == ferl::Rule::vote,
            "Only dempster and vote can be certified.");
    const std::vector<double> p = copy(consequent), r = copy(reliability);
    nb::gil_scoped_release no_gil;
    ferl::certified_radius({tree_, p, r, n_classes, scale.data(), options}, view(x), label.data(), out.data());
  }

  void open_radius(const Matrix& x, const Vector& scale, int n_threads, OutVector out) const {
    check_box(x, scale);
    require(out.shape(0) == x.shape(0), "out needs one number per row of X.");
    nb::gil_scoped_release no_gil;
    ferl::open_radius(tree_, view(x), scale.data(), n_threads, out.data());
  }

 private:
  static ferl::Tree make(const Codes& parent, const Codes& feature, const CMatrix& trapezoid, const Vector& share,
                         const Codes& category_start, const Vector& category) {
    const std::size_t n = parent.shape(0);
    require(feature.shape(0) == n && trapezoid.shape(0) == n && trapezoid.shape(1) == 4 && share.shape(0) == n,
            "parent, feature, trapezoid and share must have one row per node.");
    const std::int32_t* start = category_start.data();
    require(category_start.shape(0) == n + 1 && start[0] == 0 && std::is_sorted(start, start + n + 1) &&
                static_cast<std::size_t>(start[n]) == category.shape(0),
            "category_start must rise from 0 to the number of memberships.");
    ferl::GrownTree grown;
    for (std::size_t o = 0; o < n; ++o) {
      require(o == 0 || feature.data()[o] >= 0, "Every node but the root needs a feature.");
      const double* ends = trapezoid.data() + 4 * o;
      grown.add(parent.data()[o], {feature.data()[o], {ends[0], ends[1], ends[2], ends[3]}, share.data()[o],
                                   {category.data() + start[o], category.data() + start[o + 1]}}, 0.0);
    }
    return ferl::make_tree(grown);
  }

  static ferl::Rule rule_named(const std::string& name) {
    if (name == "dempster") return ferl::Rule::dempster;
    if (name == "cautious") return ferl::Rule::cautious;
    if (name == "chain") return ferl::Rule::chain;
    require(name == "vote", "The rule must be dempster, cautious, chain or vote.");
    return ferl::Rule::vote;
  }

  template <class Array>
  static std::vector<double> copy(const Array& values) {
    return {values.data(), values.data() + values.size()};
  }

  void check_sources(const CMatrix& consequent, const Vector& reliability) const {
    require(consequent.shape(0) == tree_.size() && reliability.shape(0) == tree_.size(),
            "consequent and reliability must have one row per node.");
  }

  void check_box(const Matrix& x, const Vector& scale) const {
    check(x);
    require(scale.shape(0) == x.shape(1), "scale must have one number per column of X.");
  }

  void check(const Matrix& x) const { require(x.shape(1) >= n_columns_, "X has fewer columns than the tree uses."); }

  ferl::Tree tree_;
  std::size_t n_columns_ = 0;
};

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of ferl.";
  m.def("fit_tree", &fit_tree, "x"_a, "n_categories"_a, "y"_a, "weight"_a, "n_classes"_a, "seed"_a, "growth_rows"_a, "options"_a,
        "report"_a.none());
  m.def("fit_linguistic", &fit_linguistic, "x"_a, "n_categories"_a, "y"_a, "weight"_a, "n_classes"_a, "seed"_a, "growth_rows"_a,
        "term_feature"_a, "term_trapezoid"_a, "term_is_complement"_a, "options"_a, "report"_a.none());
  m.def("resample", &resample, "x"_a, "n_categories"_a, "y"_a, "weight"_a, "n_classes"_a, "seed"_a, "growth_rows"_a, "n_resamples"_a);
  nb::class_<BoundTree>(m, "Tree")
      .def(nb::init<const Codes&, const Codes&, const CMatrix&, const Vector&, const Codes&, const Vector&, const CMatrix&,
                    double>(), "parent"_a, "feature"_a,
           "trapezoid"_a, "share"_a, "category_start"_a, "category"_a, "support"_a, "gate_margin"_a)
      .def("combine", &BoundTree::combine, "consequent"_a, "reliability"_a, "x"_a, "rule"_a, "all_nodes"_a, "gated"_a,
           "n_threads"_a, "belief"_a.noconvert(), "ignorance"_a.noconvert(), "conflict"_a.noconvert())
      .def("fire", &BoundTree::fire, "x"_a, "gated"_a, "n_threads"_a, "out"_a.noconvert())
      .def("bound", &BoundTree::bound, "x"_a, "radius"_a, "scale"_a, "gated"_a, "n_threads"_a, "low"_a.noconvert(),
           "high"_a.noconvert())
      .def("certified_radius", &BoundTree::certified_radius, "consequent"_a, "reliability"_a, "x"_a, "label"_a,
           "scale"_a, "rule"_a, "all_nodes"_a, "gated"_a, "n_threads"_a, "out"_a.noconvert())
      .def("open_radius", &BoundTree::open_radius, "x"_a, "scale"_a, "n_threads"_a, "out"_a.noconvert())
      .def("neighbour_distance", &BoundTree::neighbour_distance, "exemplar_row"_a, "exemplar"_a, "centre"_a, "per_unit"_a,
           "n_categories"_a, "x"_a, "n_threads"_a, "out"_a.noconvert())
      .def("residual", &BoundTree::residual, "mean"_a, "precision"_a, "x"_a, "n_threads"_a, "out"_a.noconvert())
      .def("support_deficit", &BoundTree::support_deficit, "x"_a, "n_threads"_a, "out"_a.noconvert());
}
