// The door to evidence, certificates and distances from exemplars.
#include "bind_readers.h"

#include <algorithm>
#include <cmath>

#include "interval.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

Rule rule_named(const std::string& name) {
  if (name == "dempster") return Rule::dempster;
  if (name == "cautious") return Rule::cautious;
  if (name == "chain") return Rule::chain;
  require(name == "vote", "The combination must be dempster, cautious, chain or vote.");
  return Rule::vote;
}

std::vector<std::uint8_t> flags_of(const Flags& flags) {
  require(flags.dtype() == nb::dtype<bool>() || flags.dtype() == nb::dtype<std::uint8_t>(),
          "is_source must be an array of bool or uint8.");
  const auto* first = static_cast<const std::uint8_t*>(flags.data());
  return {first, first + flags.shape(0)};
}

Exemplars checked_exemplars(const BoundTree& tree, const CMatrix& row, const Indices& exemplar,
                            const std::vector<NodeId>& group, const Vector& centre, const Vector& per_unit,
                            const Codes& n_categories) {
  const std::size_t d = row.shape(1), n = tree.size();
  require(centre.shape(0) == d && per_unit.shape(0) == d && n_categories.shape(0) == d && exemplar.shape(0) == n &&
              group.size() == n,
          "Shapes of exemplars, centre and per_unit must be those of the tree and of X.");
  require(d >= tree.n_columns(), "The exemplars have fewer columns than the tree uses.");
  const auto in_range = [](NodeId from, std::size_t end) {
    return [=](NodeId index) { return from <= index && index < static_cast<NodeId>(end); };
  };
  require(std::all_of(exemplar.data(), exemplar.data() + exemplar.size(), in_range(-1, row.shape(0))),
          "Every exemplar must be a row of exemplar_row.");
  require(std::all_of(group.begin(), group.end(), in_range(-1, n)), "Every group must be a node, or -1.");
  return {copy(row), exemplar.data(), exemplar.shape(1), group, {copy(centre), copy(per_unit), copy(n_categories)}};
}

}  // namespace

BoundSources::BoundSources(const BoundTree& tree, const CMatrix& consequent, const Vector& reliability,
                           std::vector<std::uint8_t> is_source, const std::string& combination, bool gated)
    : tree_(tree) {
  const std::size_t n = tree.size();
  require(consequent.shape(0) == n && reliability.shape(0) == n && is_source.size() == n,
          "consequent, reliability and is_source must have one row per node.");
  require(consequent.shape(1) > 0, "consequent must have one column per class.");
  sources_ = {copy(consequent), copy(reliability), std::move(is_source), static_cast<int>(consequent.shape(1)),
              rule_named(combination), gated};
  require(std::all_of(sources_.consequent.begin(), sources_.consequent.end(),
                      [](double p) { return p >= 0 && std::isfinite(p); }),
          "Every number of consequent must be finite and not negative.");
  require(std::all_of(sources_.reliability.begin(), sources_.reliability.end(),
                      [](double r) { return r >= 0 && r <= 1; }),
          "Every reliability must be between 0 and 1.");
}

BoundSources::BoundSources(const BoundTree& tree, const CMatrix& consequent, const Vector& reliability,
                           const Flags& is_source, const std::string& combination, bool gated)
    : BoundSources(tree, consequent, reliability, flags_of(is_source), combination, gated) {}

void BoundSources::combine(const Matrix& x, int n_threads, OutMatrix belief, OutVector ignorance,
                           OutVector conflict) const {
  tree_.check(x);
  require(belief.shape(0) == x.shape(0) && belief.shape(1) == static_cast<std::size_t>(sources_.n_classes) &&
              ignorance.shape(0) == x.shape(0) && conflict.shape(0) == x.shape(0),
          "The outputs must have one row per row of X, and belief one column per class.");
  nb::gil_scoped_release no_gil;
  combine_evidence(tree_.tree(), sources_, view(x), n_threads, {belief.data(), ignorance.data(), conflict.data()});
}

void BoundSources::certified_radius(const Matrix& x, const Codes& label, const Vector& scale, int n_threads,
                                    OutVector out) const {
  tree_.check_box(x, scale);
  const int n_classes = sources_.n_classes;
  require(label.shape(0) == x.shape(0) && out.shape(0) == x.shape(0), "label and out need one number per row of X.");
  require(std::all_of(label.data(), label.data() + label.size(), [=](int c) { return c >= 0 && c < n_classes; }),
          "Every label must be at least 0 and below n_classes.");
  require(sources_.rule == Rule::dempster || sources_.rule == Rule::vote, "Only dempster and vote can be certified.");
  nb::gil_scoped_release no_gil;
  ferl::certified_radius({tree_.tree(), sources_, scale.data()}, view(x), label.data(), n_threads, out.data());
}

BoundExemplars::BoundExemplars(const BoundTree& tree, const CMatrix& exemplar_row, const Indices& exemplar,
                               const std::vector<NodeId>& group, const Vector& centre, const Vector& per_unit,
                               const Codes& n_categories)
    : tree_(tree),
      n_features_(exemplar_row.shape(1)),
      exemplars_(checked_exemplars(tree, exemplar_row, exemplar, group, centre, per_unit, n_categories)) {}

BoundExemplars::BoundExemplars(const BoundTree& tree, const CMatrix& exemplar_row, const Indices& exemplar,
                               const Codes& group, const Vector& centre, const Vector& per_unit,
                               const Codes& n_categories)
    : BoundExemplars(tree, exemplar_row, exemplar, copy(group), centre, per_unit, n_categories) {}

void BoundExemplars::distance(const Matrix& x, int n_threads, OutMatrix out) const {
  require(x.shape(1) == n_features_, "X must have the columns of the exemplars.");
  require(out.shape(0) == x.shape(0) && (out.shape(1) == 1 || out.shape(1) == n_features_),
          "out must have one row per row of X, and one column or one for each feature.");
  nb::gil_scoped_release no_gil;
  exemplars_.distance(tree_.tree(), view(x), n_threads, out.shape(1), out.data());
}

void bind_readers(nb::module_& m) {
  nb::class_<BoundSources>(m, "Sources")
      .def(nb::init<const BoundTree&, const CMatrix&, const Vector&, const Flags&, const std::string&, bool>(),
           nb::keep_alive<1, 2>(), "tree"_a, "consequent"_a, "reliability"_a, "is_source"_a, "combination"_a, "gated"_a)
      .def("combine", &BoundSources::combine, "x"_a, "n_threads"_a, "belief"_a.noconvert(), "ignorance"_a.noconvert(),
           "conflict"_a.noconvert())
      .def("certified_radius", &BoundSources::certified_radius, "x"_a, "label"_a, "scale"_a, "n_threads"_a,
           "out"_a.noconvert());
  nb::class_<BoundExemplars>(m, "Exemplars")
      .def(nb::init<const BoundTree&, const CMatrix&, const Indices&, const Codes&, const Vector&, const Vector&,
                    const Codes&>(),
           nb::keep_alive<1, 2>(), "tree"_a, "exemplar_row"_a, "exemplar"_a, "group"_a, "centre"_a, "per_unit"_a,
           "n_categories"_a)
      .def("distance", &BoundExemplars::distance, "x"_a, "n_threads"_a, "out"_a.noconvert());
}

}  // namespace ferl::python
