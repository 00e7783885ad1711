// The door to weights of evidence.
#include <algorithm>
#include <cmath>

#include "bind/cases.h"
#include "bind/proofs.h"
#include "bind/tree.h"
#include "rules/score_proof.h"
#include "rules/scores.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

// Curves and maps from the arrays of Python's CurvesAndMaps.
class BoundCurves {
 public:
  // column: [term][2], the second -1 for a curve; cut_start: [2 * term + axis], and the end; n_categories: [column].
  BoundCurves(const Indices& column, const Codes& cut_start, const Vector& cut, const Codes& cell_start,
              const CMatrix& value, const Codes& n_categories) {
    const std::size_t n_terms = column.shape(0), n_columns = n_categories.shape(0);
    check_category_counts(n_categories);
    require(column.shape(1) == 2 && cut_start.shape(0) == 2 * n_terms + 1 && cell_start.shape(0) == n_terms + 1 &&
                value.shape(1) > 0,
            "Curves need two columns and two beginnings of cuts each, and cells with a value for each class.");
    require(is_partition(cut_start, cut.shape(0)) && is_partition(cell_start, value.shape(0)),
            "Cuts and cells must begin at 0, ascend, and end with the last one.");
    require(all_of(value, [](double number) { return std::isfinite(number); }), "Values of curves must be finite.");
    std::vector<std::vector<GivenAxis>> terms(n_terms);
    for (std::size_t t = 0; t < n_terms; ++t) {
      std::size_t n_cells = 1;
      for (std::size_t a = 0; a < 2; ++a) {
        const std::int32_t read_column = column.data()[2 * t + a];
        const auto first = static_cast<std::size_t>(cut_start.data()[2 * t + a]);
        const std::size_t n_cuts = static_cast<std::size_t>(cut_start.data()[2 * t + a + 1]) - first;
        if (a == 1 && read_column == -1 && n_cuts == 0) continue;
        require(read_column >= 0 && static_cast<std::size_t>(read_column) < n_columns,
                "A curve reads a column that is not there.");
        const std::int32_t n_categories_of = n_categories.data()[read_column];
        require(n_categories_of == 0 || n_cuts == 0, "Categories have no cuts.");
        const double* cuts = cut.data() + first;
        for (std::size_t k = 0; k < n_cuts; ++k)
          require(std::isfinite(cuts[k]) && (k == 0 || cuts[k - 1] < cuts[k]), "Cuts must be finite and ascend.");
        terms[t].push_back({read_column, n_categories_of, cuts, n_cuts});
        n_cells *= (n_categories_of > 0 ? static_cast<std::size_t>(n_categories_of) : n_cuts) + 2;
        n_columns_ = std::max(n_columns_, static_cast<std::size_t>(read_column) + 1);
      }
      require(terms[t].size() < 2 || terms[t][0].column != terms[t][1].column, "A map needs two different columns.");
      require(n_cells == static_cast<std::size_t>(cell_start.data()[t + 1] - cell_start.data()[t]),
              "A curve or map must have one cell for each combination of bins.");
    }
    curves_ = merged(terms, value.shape(1), copy(value));
  }

  const CurvesAndMaps& curves() const { return curves_; }

  // The cell of each row in each term, shape (n_rows, n_terms), among the cells of all terms.
  void cells(const Matrix& x, OutIndices out) const {
    require(x.shape(1) >= n_columns_, "X has fewer columns than the curves read.");
    require(out.shape(0) == x.shape(0) && out.shape(1) == curves_.terms.size(),
            "out must have shape (n_rows, n_terms).");
    const MatrixView rows = view(x);
    std::vector<Bin> bins(curves_.inputs.size());
    for (std::size_t i = 0; i < x.shape(0); ++i) {
      for (std::size_t k = 0; k < bins.size(); ++k)
        bins[k] = curves_.inputs[k].bin(rows(i, static_cast<std::size_t>(curves_.inputs[k].column)));
      for (std::size_t t = 0; t < curves_.terms.size(); ++t)
        out.data()[i * curves_.terms.size() + t] =
            static_cast<std::int32_t>(curves_.cell(curves_.terms[t], bins.data()));
    }
  }

 private:
  static bool is_partition(const Codes& start, std::size_t n) {
    const std::int32_t* first = start.data();
    return first[0] == 0 && std::is_sorted(first, first + start.shape(0)) &&
           static_cast<std::size_t>(first[start.shape(0) - 1]) == n;
  }

  CurvesAndMaps curves_;
  std::size_t n_columns_ = 0;
};

// The same as of arrays of Python, which are checked.
class BoundRowsBehind : public RowsBehind {
 public:
  BoundRowsBehind(const CMatrix& products, const Vector& ridge, double curvature, const Vector& support)
      : RowsBehind(checked(products, ridge, curvature, support), copy(ridge), curvature, copy(support)) {}

 private:
  static std::vector<double> checked(const CMatrix& products, const Vector& ridge, double curvature,
                                     const Vector& support) {
    const std::size_t width = ridge.shape(0) + 1;
    require(products.shape(0) == width && products.shape(1) == width,
            "products must have one row and one column for the prior and for each rule.");
    const auto is_positive = [](double number) { return std::isfinite(number) && number >= 0; };
    require(all_of(products, is_positive) && std::all_of(ridge.data(), ridge.data() + ridge.shape(0), is_positive) &&
                std::all_of(support.data(), support.data() + support.shape(0), is_positive) && curvature > 0 &&
                std::isfinite(curvature),
            "products, ridge and support must be finite and at least 0, and the curvature above 0.");
    return copy(products);
  }
};

class BoundScores {
 public:
  BoundScores(const BoundTree& tree, const Codes& rule_node, const CMatrix& weight, const Vector& prior,
              const Vector& base, const Codes& columns, std::size_t n_fading, const CMatrix& range,
              const Codes& n_categories, double margin, const BoundCurves* curves, const BoundCases* cases)
      : tree_(tree) {
    const std::size_t n_rules = rule_node.shape(0), n_classes = prior.shape(0), n_columns = columns.shape(0);
    require(n_classes > 0 && weight.shape(0) == n_rules && weight.shape(1) == n_classes && base.shape(0) == n_classes,
            "weight must have one row per rule and one column per class, as prior and base have.");
    require(range.shape(0) == n_columns && range.shape(1) == 2 && n_categories.shape(0) == n_columns && margin > 0,
            "range and n_categories must have one row per column, and the margin must be positive.");
    require(n_fading <= n_columns, "No more gates can fade scores than there are.");
    supports_.n_fading = n_fading;
    check_category_counts(n_categories);
    weights_.n_classes = static_cast<int>(n_classes);
    weights_.weight = copy(weight);
    weights_.prior = copy(prior);
    weights_.base = copy(base);
    require(all_finite(weights_.weight) && all_finite(weights_.prior) && all_finite(weights_.base),
            "Weights, prior and base must be finite.");
    weights_.prior_size = size_of(weights_.prior.data(), n_classes);
    weights_.rule_of.assign(tree.size(), -1);
    for (std::size_t j = 0; j < n_rules; ++j) {
      const std::int32_t node = rule_node.data()[j];
      require(node > 0 && static_cast<std::size_t>(node) < tree.size() && weights_.rule_of[node] < 0,
              "Every rule must end at a separate node below the root.");
      weights_.rule_of[node] = static_cast<std::int32_t>(j);
      weights_.size.push_back(size_of(weights_.weight.data() + j * n_classes, n_classes));
    }
    for (std::size_t k = 0; k < n_columns; ++k) {
      require(columns.data()[k] >= 0, "A column cannot be negative.");
      n_columns_ = std::max(n_columns_, static_cast<std::size_t>(columns.data()[k]) + 1);
      supports_.column.push_back(columns.data()[k]);
      supports_.gate.emplace_back(range.data()[2 * k], range.data()[2 * k + 1], margin);
      supports_.n_categories.push_back(n_categories.data()[k]);
    }
    if (curves) {
      weights_.curves = curves->curves();
      require(weights_.curves.n_classes == n_classes, "Curves must have a value for each class.");
      for (const CurvesAndMaps::Input& input : weights_.curves.inputs)
        n_columns_ = std::max(n_columns_, static_cast<std::size_t>(input.column) + 1);
    }
    if (cases) {
      weights_.cases = &cases->cases();
      require(weights_.cases->n_classes() == n_classes, "Cases must have a frequency for each class.");
      n_columns_ = std::max(n_columns_, weights_.cases->n_columns());
    }
    list_columns(tree_.tree(), supports_, weights_);
  }

  void scores(const Matrix& x, int n_threads, OutMatrix out) const {
    check(x, {&out});
    nb::gil_scoped_release no_gil;
    add_scores(tree_.tree(), weights_, supports_, view(x), n_threads, out.data());
  }

  void probabilities(const Matrix& x, int n_threads, OutMatrix out) const {
    check(x, {&out});
    nb::gil_scoped_release no_gil;
    give_probabilities(tree_.tree(), weights_, supports_, view(x), n_threads, out.data());
  }

  void weigh(const Matrix& x, const BoundRowsBehind& behind, int n_threads, OutMatrix probability, OutVector conflict,
             OutVector support, OutVector n_rows) const {
    check(x, {&probability});
    for (const OutVector* out : {&conflict, &support, &n_rows})
      require(out->shape(0) == x.shape(0), "conflict, support and n_rows need one number per row of X.");
    require(behind.n_rules() == weights_.size.size() && behind.n_cells() == weights_.curves.size.size(),
            "What counts the rows must have the rules and the cells of the scores.");
    nb::gil_scoped_release no_gil;
    weigh_evidence(tree_.tree(), weights_, supports_, behind, view(x), n_threads,
                   {probability.data(), conflict.data(), support.data(), n_rows.data()});
  }

  void certified_radius(const Matrix& x, const Codes& label, const Vector& scale, int n_threads, OutVector out) const {
    check(x, {});
    tree_.check_box(x, scale);
    check_labels(x, label, weights_.n_classes, out);
    nb::gil_scoped_release no_gil;
    ferl::certified_radius({tree_.tree(), weights_, supports_, scale.data()}, view(x), label.data(), n_threads,
                           out.data());
  }

  void nearest_flips(const Matrix& row, int label, const Codes& columns, const Vector& width, OutMatrix at,
                     OutMatrix proven) const {
    check(row, {});
    check_flips(row, label, weights_.n_classes, columns, width, at, proven);
    nb::gil_scoped_release no_gil;
    ScoreProof proof(tree_.tree(), weights_, supports_);
    proof.stand_at(view(row), 0, label);
    search_flips(proof, view(row), label, columns, width, at, proven);
  }

  void entropy(const Matrix& x, int n_threads, OutVector out) const {
    check(x, {});
    require(out.shape(0) == x.shape(0), "out needs one number per row of X.");
    nb::gil_scoped_release no_gil;
    measure_entropy(tree_.tree(), weights_, supports_, view(x), n_threads, out.data());
  }

  // How open the gate of each column is, shape (n_rows, number of columns).
  void supports(const Matrix& x, OutMatrix out) const {
    check(x, {});
    const std::size_t n = supports_.column.size();
    require(out.shape(0) == x.shape(0) && out.shape(1) == n, "out must have shape (n_rows, number of columns).");
    const MatrixView rows = view(x);
    for (std::size_t i = 0; i < x.shape(0); ++i)
      for (std::size_t k = 0; k < n; ++k) out.data()[i * n + k] = supports_.opens(k, rows(i, supports_.column[k]));
  }

  // Low end, high end and slope of each gate, shape (number of columns, 3).
  nb::object gate() const {
    std::vector<double> values;
    for (const Gate& one : supports_.gate) values.insert(values.end(), {one.low, one.high, one.slope});
    return to_numpy(std::move(values), {supports_.gate.size(), 3});
  }

 private:
  static double size_of(const double* values, std::size_t n) {
    double sum = 0;
    for (std::size_t c = 0; c < n; ++c) sum += std::fabs(values[c]);
    return sum;
  }

  static bool all_finite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  }

  void check(const Matrix& x, std::initializer_list<const OutMatrix*> outputs) const {
    tree_.check(x);
    require(x.shape(1) >= n_columns_, "X has fewer columns than the gates ask.");
    for (const OutMatrix* out : outputs)
      require(out->shape(0) == x.shape(0) && out->shape(1) == static_cast<std::size_t>(weights_.n_classes),
              "The outputs must have one row per row of X and one column per class.");
  }

  const BoundTree& tree_;  // Python keeps it alive
  RuleWeights weights_;
  Supports supports_;
  std::size_t n_columns_ = 0;
};

}  // namespace

void bind_scores(nb::module_& m) {
  nb::class_<BoundCurves>(m, "CurvesAndMaps")
      .def(nb::init<const Indices&, const Codes&, const Vector&, const Codes&, const CMatrix&, const Codes&>(),
           "column"_a, "cut_start"_a, "cut"_a, "cell_start"_a, "value"_a, "n_categories"_a)
      .def("cells", &BoundCurves::cells, "x"_a, "out"_a.noconvert());
  nb::class_<BoundRowsBehind>(m, "RowsBehind")
      .def(nb::init<const CMatrix&, const Vector&, double, const Vector&>(), "products"_a, "ridge"_a, "curvature"_a,
           "support"_a)
      .def_prop_ro("mean", [](const BoundRowsBehind& behind) { return vector_of(behind.mean()); })
      .def_prop_ro("per_deviation", [](const BoundRowsBehind& behind) { return vector_of(behind.per_deviation()); })
      .def_prop_ro("triangle",
                   [](const BoundRowsBehind& behind) {
                     return to_numpy(behind.triangle(), {behind.n_rules(), behind.n_rules()});
                   })
      .def_prop_ro("least", &BoundRowsBehind::least);
  nb::class_<BoundScores>(m, "Scores")
      .def(nb::init<const BoundTree&, const Codes&, const CMatrix&, const Vector&, const Vector&, const Codes&,
                    std::size_t, const CMatrix&, const Codes&, double, const BoundCurves*, const BoundCases*>(),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 13>(), "tree"_a, "rule_node"_a, "weight"_a, "prior"_a, "base"_a,
           "columns"_a, "n_fading"_a, "range"_a, "n_categories"_a, "margin"_a, "curves"_a.none() = nb::none(),
           "cases"_a.none() = nb::none())
      .def("scores", &BoundScores::scores, "x"_a, "n_threads"_a, "out"_a.noconvert())
      .def("probabilities", &BoundScores::probabilities, "x"_a, "n_threads"_a, "out"_a.noconvert())
      .def("weigh", &BoundScores::weigh, "x"_a, "behind"_a, "n_threads"_a, "probability"_a.noconvert(),
           "conflict"_a.noconvert(), "support"_a.noconvert(), "n_rows"_a.noconvert())
      .def("certified_radius", &BoundScores::certified_radius, "x"_a, "label"_a, "scale"_a, "n_threads"_a,
           "out"_a.noconvert())
      .def("nearest_flips", &BoundScores::nearest_flips, "row"_a, "label"_a, "columns"_a, "width"_a, "at"_a.noconvert(),
           "proven"_a.noconvert())
      .def("entropy", &BoundScores::entropy, "x"_a, "n_threads"_a, "out"_a.noconvert())
      .def("supports", &BoundScores::supports, "x"_a, "out"_a.noconvert())
      .def_prop_ro("gate", &BoundScores::gate);
}

}  // namespace ferl::python
