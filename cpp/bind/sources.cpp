// Bindings of evidence and certificates: the evidence of the nodes of a tree, computed once and kept.
#include <algorithm>
#include <cmath>

#include "bind/proofs.h"
#include "bind/tree.h"
#include "trees/evidence.h"
#include "trees/label_proof.h"
#include "trees/tree_row_proof.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

using Flags = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // bool or uint8

Combination combination_named(const std::string& name) {
  if (name == "dempster") return Combination::dempster;
  if (name == "cautious") return Combination::cautious;
  if (name == "chain") return Combination::chain;
  require(name == "vote", "The combination must be dempster, cautious, chain or vote.");
  return Combination::vote;
}

std::vector<std::uint8_t> flags_of(const Flags& flags) {
  require(flags.dtype() == nb::dtype<bool>() || flags.dtype() == nb::dtype<std::uint8_t>(),
          "is_source must be an array of bool or uint8.");
  const auto* first = static_cast<const std::uint8_t*>(flags.data());
  return {first, first + flags.shape(0)};
}

class BoundSources {
 public:
  BoundSources(const BoundTree& tree, const CMatrix& consequent, const Vector& reliability, const Flags& is_source,
               const std::string& combination, bool gated)
      : tree_(tree) {
    const std::size_t n = tree.size();
    require(consequent.shape(0) == n && reliability.shape(0) == n && is_source.shape(0) == n,
            "consequent, reliability and is_source must have one row per node.");
    require(consequent.shape(1) > 0, "consequent must have one column per class.");
    sources_ = {copy(consequent),
                copy(reliability),
                flags_of(is_source),
                static_cast<int>(consequent.shape(1)),
                combination_named(combination),
                gated};
    require(std::all_of(sources_.consequent.begin(), sources_.consequent.end(),
                        [](double p) { return p >= 0 && std::isfinite(p); }),
            "Every number of consequent must be finite and not negative.");
    require(std::all_of(sources_.reliability.begin(), sources_.reliability.end(),
                        [](double r) { return r >= 0 && r <= 1; }),
            "Every reliability must be between 0 and 1.");
  }

  void combine(const Matrix& x, int n_threads, OutMatrix belief, OutVector ignorance, OutVector conflict) const {
    tree_.check(x);
    require(belief.shape(0) == x.shape(0) && belief.shape(1) == static_cast<std::size_t>(sources_.n_classes) &&
                ignorance.shape(0) == x.shape(0) && conflict.shape(0) == x.shape(0),
            "The outputs must have one row per row of X, and belief one column per class.");
    nb::gil_scoped_release no_gil;
    combine_evidence(tree_.tree(), sources_, view(x), n_threads, {belief.data(), ignorance.data(), conflict.data()});
  }

  void certified_radius(const Matrix& x, const Codes& label, const Vector& scale, int n_threads, OutVector out) const {
    tree_.check_box(x, scale);
    check_labels(x, label, sources_.n_classes, out);
    require(sources_.combination == Combination::dempster || sources_.combination == Combination::vote,
            "Only dempster and vote can be certified.");
    nb::gil_scoped_release no_gil;
    ferl::certified_radius({tree_.tree(), sources_, scale.data()}, view(x), label.data(), n_threads, out.data());
  }

  void nearest_flips(const Matrix& row, int label, const Codes& columns, const Vector& width, OutMatrix at,
                     OutMatrix proven) const {
    tree_.check(row);
    check_flips(row, label, sources_.n_classes, columns, width, at, proven);
    nb::gil_scoped_release no_gil;
    TreeRowProof proof(tree_.tree(), sources_, view(row), label);
    search_flips(proof, view(row), label, columns, width, at, proven);
  }

 private:
  const BoundTree& tree_;  // Python keeps it alive
  Sources sources_;
};

}  // namespace

void bind_sources(nb::module_& m) {
  nb::class_<BoundSources>(m, "Sources")
      .def(nb::init<const BoundTree&, const CMatrix&, const Vector&, const Flags&, const std::string&, bool>(),
           nb::keep_alive<1, 2>(), "tree"_a, "consequent"_a, "reliability"_a, "is_source"_a, "combination"_a, "gated"_a)
      .def("combine", &BoundSources::combine, "x"_a, "n_threads"_a, "belief"_a.noconvert(), "ignorance"_a.noconvert(),
           "conflict"_a.noconvert())
      .def("certified_radius", &BoundSources::certified_radius, "x"_a, "label"_a, "scale"_a, "n_threads"_a,
           "out"_a.noconvert())
      .def("nearest_flips", &BoundSources::nearest_flips, "row"_a, "label"_a, "columns"_a, "width"_a,
           "at"_a.noconvert(), "proven"_a.noconvert());
}

}  // namespace ferl::python
