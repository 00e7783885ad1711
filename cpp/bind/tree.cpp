// The door to the tree: its conditions and its firings.
#include <algorithm>
#include <array>

#include "bind/tree.h"
#include "core/fire.h"
#include "novelty/novelty.h"
#include "proofs/certify.h"
#include "rules/rule_products.h"

namespace ferl::python {

using namespace nb::literals;

Tree tree_of(const Codes& parent, const Codes& feature, const CMatrix& trapezoid, const Vector& share,
             const Codes& category_start, const Vector& category) {
  const std::size_t n = parent.shape(0);
  require(feature.shape(0) == n && trapezoid.shape(0) == n && trapezoid.shape(1) == 4 && share.shape(0) == n,
          "parent, feature, trapezoid and share must have one row per node.");
  require(n > 0 && category_start.shape(0) == n + 1, "category_start must have one number per node, and the end.");
  const std::int32_t* start = category_start.data();
  require(
      start[0] == 0 && std::is_sorted(start, start + n + 1) && static_cast<std::size_t>(start[n]) == category.shape(0),
      "category_start must rise from 0 to the number of memberships.");
  check_trapezoids(trapezoid);
  const auto is_share = [](double value) { return value >= 0 && value <= 1 + 1e-9; };
  require(all_of(share, is_share), "Every share must be between 0 and 1.");
  require(all_of(category, [=](double value) { return is_missing(value) || is_share(value); }),
          "Every membership of a category must be between 0 and 1, or missing.");
  GrownTree grown;
  for (std::size_t o = 0; o < n; ++o) {
    require(o == 0 || feature.data()[o] >= 0, "Every node but the root needs a feature.");
    const double* ends = trapezoid.data() + 4 * o;
    grown.add(parent.data()[o],
              {feature.data()[o],
               {ends[0], ends[1], ends[2], ends[3]},
               share.data()[o],
               {category.data() + start[o], category.data() + start[o + 1]}},
              0.0);
  }
  return make_tree(grown);
}

BoundTree::BoundTree(const Codes& parent, const Codes& feature, const CMatrix& trapezoid, const Vector& share,
                     const Codes& category_start, const Vector& category, const CMatrix& support, double margin)
    : tree_(tree_of(parent, feature, trapezoid, share, category_start, category)) {
  require(support.shape(0) == tree_.size() && support.shape(1) == 2, "support must have shape (n_nodes, 2).");
  require(margin >= 0, "gate_margin must not be negative.");
  for (std::size_t o = 1; o < tree_.size(); ++o) {
    tree_.nodes[o].gate = Gate(support.data()[2 * o], support.data()[2 * o + 1], margin);
    n_columns_ = std::max(n_columns_, static_cast<std::size_t>(tree_.nodes[o].column) + 1);
  }
}

namespace {

// Three numbers of each node, as an array of shape (n_nodes, 3).
template <class Numbers>
nb::object of_nodes(const BoundTree& bound, const Numbers& numbers) {
  std::vector<double> values;
  for (const Node& node : bound.tree().nodes) {
    const std::array<double, 3> of_node = numbers(node);
    values.insert(values.end(), of_node.begin(), of_node.end());
  }
  return to_numpy(std::move(values), {bound.size(), 3});
}

std::array<double, 3> numbers_of(const Side& side) { return {side.start, side.slope, side.base}; }

nb::object rise(const BoundTree& bound) {
  return of_nodes(bound, [](const Node& node) { return numbers_of(node.membership.rise); });
}

nb::object fall(const BoundTree& bound) {
  return of_nodes(bound, [](const Node& node) { return numbers_of(node.membership.fall); });
}

nb::object gate(const BoundTree& bound) {
  return of_nodes(bound, [](const Node& node) { return std::array{node.gate.low, node.gate.high, node.gate.slope}; });
}

nb::object is_split(const BoundTree& bound) {
  auto* values = new bool[bound.size()];
  nb::capsule owner(values, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  for (std::size_t o = 0; o < bound.size(); ++o) values[o] = bound.tree().is_split(o);
  return nb::cast(nb::ndarray<nb::numpy, bool>(values, {bound.size()}, owner));
}

void fire(const BoundTree& bound, const Matrix& x, bool gated, int n_threads, OutMatrix out) {
  bound.check(x);
  require(out.shape(0) == x.shape(0) && out.shape(1) == bound.size(), "out must have shape (n_rows, n_nodes).");
  nb::gil_scoped_release no_gil;
  fire_nodes(bound.tree(), view(x), gated, n_threads, out.data());
}

void products(const BoundTree& bound, const Codes& rule_node, const Matrix& x, int n_threads, OutMatrix out) {
  bound.check(x);
  const std::size_t n_rules = rule_node.shape(0);
  require(out.shape(0) == n_rules + 1 && out.shape(1) == n_rules + 1,
          "out must have one row and one column for a firing of one, and for each rule.");
  std::vector<std::int32_t> rule_of(bound.size(), -1);
  for (std::size_t j = 0; j < n_rules; ++j) {
    const std::int32_t node = rule_node.data()[j];
    require(node > 0 && static_cast<std::size_t>(node) < bound.size() && rule_of[static_cast<std::size_t>(node)] < 0,
            "Every rule must end at a separate node below the root.");
    rule_of[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(j);
  }
  nb::gil_scoped_release no_gil;
  add_products(bound.tree(), rule_of, n_rules, view(x), n_threads, out.data());
}

void residual(const BoundTree& bound, const CMatrix& mean, const CMatrix& precision, const Matrix& x, int n_threads,
              OutMatrix out) {
  bound.check(x);
  for (const auto* matrix : {&mean, &precision})
    require(matrix->shape(0) == bound.size() && matrix->shape(1) == x.shape(1),
            "mean and precision must have shape (n_nodes, n_features).");
  require(out.shape(0) == x.shape(0) && out.shape(1) == x.shape(1), "out must have the shape of X.");
  nb::gil_scoped_release no_gil;
  ferl::residual(bound.tree(), view(x), mean.data(), precision.data(), n_threads, out.data());
}

void support_deficit(const BoundTree& bound, const Matrix& x, int n_threads, OutMatrix out) {
  bound.check(x);
  require(out.shape(0) == x.shape(0) && out.shape(1) == x.shape(1), "out must have the shape of X.");
  nb::gil_scoped_release no_gil;
  ferl::support_deficit(bound.tree(), view(x), n_threads, out.data());
}

void open_radius(const BoundTree& bound, const Matrix& x, const Vector& scale, int n_threads, OutVector out) {
  bound.check_box(x, scale);
  require(out.shape(0) == x.shape(0), "out needs one number per row of X.");
  nb::gil_scoped_release no_gil;
  ferl::open_radius(bound.tree(), view(x), scale.data(), n_threads, out.data());
}

}  // namespace

void bind_tree(nb::module_& m) {
  nb::class_<BoundTree>(m, "Tree")
      .def(nb::init<const Codes&, const Codes&, const CMatrix&, const Vector&, const Codes&, const Vector&,
                    const CMatrix&, double>(),
           "parent"_a, "feature"_a, "trapezoid"_a, "share"_a, "category_start"_a, "category"_a, "support"_a,
           "gate_margin"_a)
      .def_prop_ro("rise", &rise)
      .def_prop_ro("fall", &fall)
      .def_prop_ro("gate", &gate)
      .def_prop_ro("is_split", &is_split)
      .def("fire", &fire, "x"_a, "gated"_a, "n_threads"_a, "out"_a.noconvert())
      .def("products", &products, "rule_node"_a, "x"_a, "n_threads"_a, "out"_a.noconvert())
      .def("open_radius", &open_radius, "x"_a, "scale"_a, "n_threads"_a, "out"_a.noconvert())
      .def("residual", &residual, "mean"_a, "precision"_a, "x"_a, "n_threads"_a, "out"_a.noconvert())
      .def("support_deficit", &support_deficit, "x"_a, "n_threads"_a, "out"_a.noconvert());
}

}  // namespace ferl::python
