#include "bind/table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferl::python {

TableView table_view(const Matrix& x, const Codes& n_categories, const Codes& y, const Vector& weight, int n_classes,
                     int n_threads) {
  require(n_categories.shape(0) == x.shape(1), "n_categories must have one number per column of X.");
  check_category_counts(n_categories);
  require(x.shape(0) == y.shape(0) && x.shape(0) == weight.shape(0), "X, y and weight must have the same length.");
  require(x.shape(0) < std::numeric_limits<Row>::max(), "At most 4,294,967,294 rows can be fitted at once.");
  const TableView table{view(x), n_categories.data(), y.data(), weight.data(), n_classes};
  const std::size_t n = x.shape(0);
  constexpr std::size_t kPieceRows = 1 << 16;
  const auto check = [&](std::size_t piece) {
    const std::size_t first = piece * kPieceRows, end = std::min(first + kPieceRows, n);
    for (std::size_t j = 0; j < x.shape(1); ++j) {
      const int n_levels = table.n_categories[j];
      for (std::size_t i = first; n_levels > 0 && i < end; ++i)
        require(is_missing(table.x(i, j)) || (table.x(i, j) >= 0 && table.x(i, j) < n_levels),
                "Every category code must be at least 0 and below n_categories.");
      bool is_infinite = false;
      for (std::size_t i = first; n_levels == 0 && i < end; ++i) is_infinite |= std::isinf(table.x(i, j));
      require(!is_infinite, "Every number of X must be finite, or missing.");
    }
    require(std::all_of(table.weight + first, table.weight + end, [](double w) { return w >= 0 && std::isfinite(w); }),
            "Every weight must be finite and not negative.");
    require(std::all_of(table.y + first, table.y + end, [=](Label c) { return c >= 0 && c < n_classes; }),
            "Every class code must be at least 0 and below n_classes.");
  };
  parallel_for((n + kPieceRows - 1) / kPieceRows, n_threads, check, [] {});
  return table;
}

void check_ranges(const TableView& table, const std::vector<double>& low, const std::vector<double>& high,
                  double most_weight, int n_threads) {
  const std::size_t n = table.x.n_rows;
  constexpr std::size_t kPieceRows = 1 << 16;
  const auto check = [&](std::size_t piece) {
    const std::size_t first = piece * kPieceRows, end = std::min(first + kPieceRows, n);
    bool is_outside = false;
    for (std::size_t j = 0; j < table.x.n_columns; ++j)
      for (std::size_t i = first; i < end; ++i)  // both comparisons fail where the value is missing
        is_outside |= table.weight[i] > 0 && (table.x(i, j) < low[j] || table.x(i, j) > high[j]);
    for (std::size_t i = first; i < end; ++i) is_outside |= table.weight[i] > most_weight;
    require(!is_outside,
            "A row has a value or a weight outside the range of the rows that were seen before. Rows must be the same "
            "in every pass.");
  };
  parallel_for((n + kPieceRows - 1) / kPieceRows, n_threads, check, [] {});
}

void check_rows(const CMatrix& x, const Codes& n_categories) {
  const std::size_t d = x.shape(1);
  for (std::size_t i = 0; i < x.shape(0); ++i)
    for (std::size_t j = 0; j < d; ++j) {
      const double value = x.data()[i * d + j];
      const int n_levels = n_categories.data()[j];
      require(is_missing(value) || (n_levels == 0 ? std::isfinite(value) : value >= 0 && value < n_levels),
              "The rows of a state must hold finite numbers and known categories.");
    }
}

void check_state_version(const nb::dict& state) {
  int version = 0;
  if (!state.contains("version") || !nb::try_cast<int>(state["version"], version) || version != kStateVersion)
    throw std::invalid_argument("A state of another version cannot be read; this is version " +
                                std::to_string(kStateVersion) + ". Run the same version of ferl in all processes.");
}

void check_key_columns(const Codes& columns, std::size_t n_columns) {
  for (std::size_t j = 0; j < columns.shape(0); ++j)
    require(columns.data()[j] >= 0 && static_cast<std::size_t>(columns.data()[j]) < n_columns,
            "Keys are made of columns of the table.");
}

}  // namespace ferl::python
