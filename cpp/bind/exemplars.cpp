// The door to exemplars: rows that cover others, and distances from them, laid out for a search of the nearest one.
#include <algorithm>
#include <cmath>
#include <utility>

#include "bind/tree.h"
#include "novelty/cover.h"
#include "novelty/novelty.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

Exemplars checked_exemplars(const BoundTree& tree, const CMatrix& row, const Indices& exemplar, const Codes& group,
                            const Vector& centre, const Vector& per_unit, const Codes& n_categories) {
  const std::size_t d = row.shape(1), n = tree.size();
  require(centre.shape(0) == d && per_unit.shape(0) == d && n_categories.shape(0) == d && exemplar.shape(0) == n &&
              group.shape(0) == n,
          "Shapes of exemplars, centre and per_unit must be those of the tree and of X.");
  check_category_counts(n_categories);
  require(d >= tree.n_columns(), "The exemplars have fewer columns than the tree uses.");
  const auto in_range = [](NodeId from, std::size_t end) {
    return [=](NodeId index) { return from <= index && index < static_cast<NodeId>(end); };
  };
  require(std::all_of(exemplar.data(), exemplar.data() + exemplar.size(), in_range(-1, row.shape(0))),
          "Every exemplar must be a row of exemplar_row.");
  require(std::all_of(group.data(), group.data() + n, in_range(-1, n)), "Every group must be a node, or -1.");
  return {
      copy(row), exemplar.data(), exemplar.shape(1), copy(group), {copy(centre), copy(per_unit), copy(n_categories)}};
}

// As the search of the nearest exemplar sees rows: in units, in single precision, numbers too far away equally far.
nb::object cover(const CMatrix& row, const Vector& centre, const Vector& per_unit, const Codes& n_categories,
                 std::size_t n_kept) {
  const std::size_t n = row.shape(0), d = row.shape(1);
  require(centre.shape(0) == d && per_unit.shape(0) == d && n_categories.shape(0) == d,
          "centre, per_unit and n_categories must have one entry per column of the rows.");
  check_category_counts(n_categories);
  std::vector<float> mismatch(d);
  for (std::size_t j = 0; j < d; ++j)
    mismatch[j] = n_categories.data()[j] == 0 ? -1.0F : static_cast<float>(per_unit.data()[j]);
  CoverRows rows(n, std::move(mismatch));
  for (std::size_t j = 0; j < d; ++j) {
    const bool is_number = n_categories.data()[j] == 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double value = row.data()[i * d + j];
      double units = is_number ? (value - centre.data()[j]) * per_unit.data()[j] : value;
      if (is_number) units = std::clamp(units, -kFarAway, kFarAway);
      rows.set(i, j, static_cast<float>(std::isnan(units) ? (is_number ? 0.0 : -1.0) : units));
    }
  }
  std::vector<std::int32_t> chosen;
  {
    nb::gil_scoped_release no_gil;
    chosen = rows.choose(n_kept);
  }
  return vector_of(chosen);
}

class BoundExemplars {
 public:
  BoundExemplars(const BoundTree& tree, const CMatrix& exemplar_row, const Indices& exemplar, const Codes& group,
                 const Vector& centre, const Vector& per_unit, const Codes& n_categories)
      : tree_(tree), n_features_(exemplar_row.shape(1)),
        exemplars_(checked_exemplars(tree, exemplar_row, exemplar, group, centre, per_unit, n_categories)) {}

  void distance(const Matrix& x, int n_threads, OutMatrix out) const {
    require(x.shape(1) == n_features_, "X must have the columns of the exemplars.");
    require(out.shape(0) == x.shape(0) && (out.shape(1) == 1 || out.shape(1) == n_features_),
            "out must have one row per row of X, and one column or one for each feature.");
    nb::gil_scoped_release no_gil;
    exemplars_.distance(tree_.tree(), view(x), n_threads, out.shape(1), out.data());
  }

 private:
  const BoundTree& tree_;  // Python keeps it alive
  std::size_t n_features_;
  Exemplars exemplars_;
};

}  // namespace

void bind_exemplars(nb::module_& m) {
  m.def("cover", &cover, "row"_a, "centre"_a, "per_unit"_a, "n_categories"_a, "n_kept"_a);
  nb::class_<BoundExemplars>(m, "Exemplars")
      .def(nb::init<const BoundTree&, const CMatrix&, const Indices&, const Codes&, const Vector&, const Vector&,
                    const Codes&>(),
           nb::keep_alive<1, 2>(), "tree"_a, "exemplar_row"_a, "exemplar"_a, "group"_a, "centre"_a, "per_unit"_a,
           "n_categories"_a)
      .def("distance", &BoundExemplars::distance, "x"_a, "n_threads"_a, "out"_a.noconvert());
}

}  // namespace ferl::python
