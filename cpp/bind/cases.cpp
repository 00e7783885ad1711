// The door to similar cases.
#include "bind/cases.h"

#include <algorithm>
#include <cmath>

#include "cases/neighbour_loss.h"
#include "core/walk.h"

namespace ferl::python {

using namespace nb::literals;

namespace {

Cases checked(const CMatrix& row, const Codes& start, const Codes& label, const Vector& weight, const Vector& centre,
              const Vector& per_unit, const Codes& n_categories, const Vector& frequency, const Codes& n_nearest,
              const Vector& strength) {
  const std::size_t n = row.shape(0), d = row.shape(1), n_votes = n_nearest.shape(0);
  const std::int32_t* first = start.data();
  require(n > 0 && d > 0 && label.shape(0) == weight.shape(0) && start.shape(0) == n + 1 && first[0] == 0 &&
              std::is_sorted(first, first + n + 1) && static_cast<std::size_t>(first[n]) == label.shape(0),
          "Every place needs a row and its cases, and every case a label and a weight.");
  require(centre.shape(0) == d && per_unit.shape(0) == d && n_categories.shape(0) == d,
          "centre, per_unit and n_categories must have one entry per column of the cases.");
  check_category_counts(n_categories);
  require(n_votes > 0 && strength.shape(0) == n_votes && n_nearest.data()[0] > 0 &&
              std::is_sorted(n_nearest.data(), n_nearest.data() + n_votes),
          "n_nearest must ascend from 1 on, and have a strength each.");
  const auto is_positive = [](double number) { return std::isfinite(number) && number >= 0; };
  require(all_of(weight, is_positive) && all_of(strength, is_positive) && all_of(per_unit, is_positive) &&
              all_of(centre, [](double number) { return std::isfinite(number); }) &&
              all_of(frequency, [](double number) { return std::isfinite(number) && number > 0; }),
          "Weights, strengths and units must be finite and not negative, frequencies above zero.");
  const auto n_classes = static_cast<Label>(frequency.shape(0));
  require(std::all_of(label.data(), label.data() + label.shape(0), [&](Label c) { return c >= 0 && c < n_classes; }),
          "Every label must be at least 0 and below the number of frequencies.");
  return {copy(row),
          copy(start),
          copy(label),
          copy(weight),
          {copy(centre), copy(per_unit), copy(n_categories)},
          copy(frequency),
          {copy(n_nearest), copy(strength)}};
}

}  // namespace

BoundCases::BoundCases(const CMatrix& row, const Codes& start, const Codes& label, const Vector& weight,
                       const Vector& centre, const Vector& per_unit, const Codes& n_categories, const Vector& frequency,
                       const Codes& n_nearest, const Vector& strength)
    : cases_(checked(row, start, label, weight, centre, per_unit, n_categories, frequency, n_nearest, strength)) {}

void BoundCases::check(const Matrix& x) const {
  require(x.shape(1) == cases_.n_columns(), "X must have the columns of the cases.");
}

// The evidence of each vote, shape (n_rows, n_votes * n_classes).
void BoundCases::votes(const Matrix& x, bool others_alone, int n_threads, OutMatrix out) const {
  check(x);
  const std::size_t width = cases_.n_votes() * cases_.n_classes();
  require(out.shape(0) == x.shape(0) && out.shape(1) == width, "out must have shape (n_rows, n_votes * n_classes).");
  const MatrixView rows = view(x);
  nb::gil_scoped_release no_gil;
  over_blocks(rows, n_threads, [&](const Block& block, Levels&) {
    CaseSearch search;
    for (std::size_t i = block.first; i < block.first + block.size; ++i)
      cases_.vote(rows.row(i), rows.column_stride, others_alone, search, out.data() + i * width);
  });
}

// The nearest cases and their distances, shapes (n_rows, n).
void BoundCases::nearest(const Matrix& x, int n_threads, OutIndices index, OutMatrix distance) const {
  check(x);
  const std::size_t n = index.shape(1);
  require(index.shape(0) == x.shape(0) && distance.shape(0) == x.shape(0) && distance.shape(1) == n &&
              n <= cases_.n_places(),
          "index and distance must have shape (n_rows, n), n at most the number of cases.");
  const MatrixView rows = view(x);
  nb::gil_scoped_release no_gil;
  over_blocks(rows, n_threads, [&](const Block& block, Levels&) {
    CaseSearch search;
    for (std::size_t i = block.first; i < block.first + block.size; ++i) {
      cases_.find_nearest(rows.row(i), rows.column_stride, n, false, search);
      for (std::size_t k = 0; k < n; ++k) {
        index.data()[i * n + k] = search.near[k].index;
        distance.data()[i * n + k] = search.near[k].distance;
      }
    }
  });
}

// What each column adds to the distance of rows from places, shape (n_columns, n_rows * n).
void BoundCases::away(const Matrix& x, const Indices& place, OutMatrix out) const {
  check(x);
  const std::size_t n_rows = x.shape(0), n = place.shape(1), n_pairs = n_rows * n;
  require(place.shape(0) == n_rows && out.shape(0) == cases_.n_columns() && out.shape(1) == n_pairs,
          "place must have a line for each row of X, and out the shape (n_columns, n_rows * n).");
  require(std::all_of(place.data(), place.data() + n_pairs,
                      [&](std::int32_t own) { return own >= 0 && static_cast<std::size_t>(own) < cases_.n_places(); }),
          "Every place must be at least 0 and below the number of places.");
  const MatrixView rows = view(x);
  for (std::size_t i = 0; i < n_rows; ++i)
    cases_.away(rows.row(i), rows.column_stride, place.data() + i * n, n, out.data() + i * n, n_pairs);
}

namespace {

// away: shape (n_columns, n_rows * n_near); log_weight and share: (n_rows, n_near).
double loss_of_neighbours(const CMatrix& away, const CMatrix& log_weight, const CMatrix& share, const Vector& frequency,
                          const Vector& weight, const Vector& at, double n_behind, OutVector slope) {
  const std::size_t n = log_weight.shape(0), n_near = log_weight.shape(1), d = away.shape(0);
  require(n_near > 0 && away.shape(1) == n * n_near && share.shape(0) == n && share.shape(1) == n_near &&
              frequency.shape(0) == n && weight.shape(0) == n && at.shape(0) == 1 + d && slope.shape(0) == 1 + d,
          "The arrays must have the same rows, places and columns.");
  return neighbour_loss({n, n_near, d, away.data(), log_weight.data(), share.data(), frequency.data(), weight.data()},
                        at.data(), n_behind, slope.data());
}

}  // namespace

void bind_cases(nb::module_& m) {
  nb::class_<BoundCases>(m, "Cases")
      .def(nb::init<const CMatrix&, const Codes&, const Codes&, const Vector&, const Vector&, const Vector&,
                    const Codes&, const Vector&, const Codes&, const Vector&>(),
           "row"_a, "start"_a, "label"_a, "weight"_a, "centre"_a, "per_unit"_a, "n_categories"_a, "frequency"_a,
           "n_nearest"_a, "strength"_a)
      .def("votes", &BoundCases::votes, "x"_a, "others_alone"_a, "n_threads"_a, "out"_a.noconvert())
      .def("nearest", &BoundCases::nearest, "x"_a, "n_threads"_a, "index"_a.noconvert(), "distance"_a.noconvert())
      .def("away", &BoundCases::away, "x"_a, "place"_a, "out"_a.noconvert());
  m.def("neighbour_loss", &loss_of_neighbours, "away"_a, "log_weight"_a, "share"_a, "frequency"_a, "weight"_a, "at"_a,
        "n_behind"_a, "slope"_a.noconvert());
}

}  // namespace ferl::python
