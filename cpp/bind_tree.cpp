// The door to the readings of a tree: shapes, dtypes and names are checked here, and the GIL is released.
#include <algorithm>

#include "bind.h"
#include "evidence.h"
#include "fire.h"
#include "interval.h"
#include "novelty.h"

namespace ferl::python {

using namespace nb::literals;

Tree tree_of(const Codes& parent, const Codes& feature, const CMatrix& trapezoid, const Vector& share,
                       const Codes& category_start, const Vector& category) {
  const std::size_t n = parent.shape(0);
  require(feature.shape(0) == n && trapezoid.shape(0) == n && trapezoid.shape(1) == 4 && share.shape(0) == n,
          "parent, feature, trapezoid and share must have one row per node.");
  const std::int32_t* start = category_start.data();
  require(category_start.shape(0) == n + 1 && start[0] == 0 && std::is_sorted(start, start + n + 1) &&
              static_cast<std::size_t>(start[n]) == category.shape(0),
          "category_start must rise from 0 to the number of memberships.");
  GrownTree grown;
  for (std::size_t o = 0; o < n; ++o) {
    require(o == 0 || feature.data()[o] >= 0, "Every node but the root needs a feature.");
    const double* ends = trapezoid.data() + 4 * o;
    grown.add(parent.data()[o], {feature.data()[o], {ends[0], ends[1], ends[2], ends[3]}, share.data()[o],
                                 {category.data() + start[o], category.data() + start[o + 1]}}, 0.0);
  }
  return make_tree(grown);
}

namespace {

class BoundTree {
 public:
  BoundTree(const Codes& parent, const Codes& feature, const CMatrix& trapezoid, const Vector& share,
            const Codes& category_start, const Vector& category, const CMatrix& support, double margin)
      : tree_(tree_of(parent, feature, trapezoid, share, category_start, category)) {
    require(support.shape(0) == tree_.size() && support.shape(1) == 2, "support must have shape (n_nodes, 2).");
    for (std::size_t o = 1; o < tree_.size(); ++o) {
      tree_.nodes[o].gate = Gate(support.data()[2 * o], support.data()[2 * o + 1], margin);
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
    const EvidenceOptions options{rule_named(rule), all_nodes, gated, n_threads};
    nb::gil_scoped_release no_gil;
    combine_evidence(tree_, p, r, static_cast<int>(n_classes), view(x), options,
                           {belief.data(), ignorance.data(), conflict.data()});
  }

  void fire(const Matrix& x, bool gated, int n_threads, OutMatrix out) const {
    check(x);
    require(out.shape(0) == x.shape(0) && out.shape(1) == tree_.size(), "out must have shape (n_rows, n_nodes).");
    nb::gil_scoped_release no_gil;
    fire_nodes(tree_, view(x), gated, n_threads, out.data());
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
                        [&](NodeId e) { return -1 <= e && e < static_cast<NodeId>(exemplar_row.shape(0)); }),
            "Every exemplar must be a row of exemplar_row.");
    nb::gil_scoped_release no_gil;
    const Exemplars exemplars(tree_, exemplar.data(), exemplar.shape(1), exemplar_row.data(),
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
    bound_firings(tree_, view(x), radius, scale.data(), gated, n_threads, low.data(), high.data());
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
    const EvidenceOptions options{rule_named(rule), all_nodes, gated, n_threads};
    require(options.rule == Rule::dempster || options.rule == Rule::vote,
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
  static Rule rule_named(const std::string& name) {
    if (name == "dempster") return Rule::dempster;
    if (name == "cautious") return Rule::cautious;
    if (name == "chain") return Rule::chain;
    require(name == "vote", "The rule must be dempster, cautious, chain or vote.");
    return Rule::vote;
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

  Tree tree_;
  std::size_t n_columns_ = 0;
};

}  // namespace

void bind_tree(nb::module_& m) {
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

}  // namespace ferl::python
