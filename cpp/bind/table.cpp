#include "bind/table.h"

#include <algorithm>
#include <limits>

namespace ferl::python {

TableView table_view(const Matrix& x, const Codes& n_categories, const Codes& y, const Vector& weight, int n_classes,
                     int n_threads) {
  require(n_categories.shape(0) == x.shape(1), "n_categories must have one number per column of X.");
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
    }
    require(std::all_of(table.y + first, table.y + end, [=](Label c) { return c >= 0 && c < n_classes; }),
            "Every class code must be at least 0 and below n_classes.");
  };
  parallel_for((n + kPieceRows - 1) / kPieceRows, n_threads, check, [] {});
  return table;
}

void check_key_columns(const Codes& columns, std::size_t n_columns) {
  for (std::size_t j = 0; j < columns.shape(0); ++j)
    require(columns.data()[j] >= 0 && static_cast<std::size_t>(columns.data()[j]) < n_columns,
            "Keys are made of columns of the table.");
}

}  // namespace ferl::python
