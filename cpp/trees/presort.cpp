#include "trees/presort.h"

#include <algorithm>
#include <numeric>

#include "rows/sort.h"

namespace ferl {

namespace {

constexpr std::size_t kLarge = 200'000;  // pairs of row and feature: 800 kB of orders

}  // namespace

Orders::Orders(std::size_t n, std::vector<Column> of) : n_rows(n), columns(std::move(of)) {
  per_piece_ = n * columns.size() < kLarge ? std::max<std::size_t>(2, columns.size()) : 1;
  piece_.resize((columns.size() + per_piece_ - 1) / per_piece_);
  for (auto& piece : piece_)
    if (!is_large()) piece.resize(n_rows * columns.size());
}

void Orders::keep(std::size_t n_lists) {
  columns.resize(n_lists);
  if (is_large()) piece_.resize(n_lists);
}

Orders presort(const Sample& sample, ThreadPool& pool) {
  std::vector<Column> columns(sample.n_columns);
  std::iota(columns.begin(), columns.end(), 0);
  Orders orders(sample.n_rows, std::move(columns));

  // Columns a task: several where they are short, so that the sorter's buffers are reused, one where they are long, so
  // that an interrupt is noticed soon.
  const std::size_t chunk = std::max<std::size_t>(1, 50'000 / (sample.n_rows + 1));
  const std::size_t n_tasks = (sample.n_columns + chunk - 1) / chunk;
  auto sort_columns = [&](std::size_t task) {
    RowSorter sort;
    std::vector<KeyedRow> keyed(sample.n_rows);
    for (std::size_t j = task * chunk; j < std::min((task + 1) * chunk, sample.n_columns); ++j) {
      const double* x = sample.column(j);
      for (std::size_t i = 0; i < sample.n_rows; ++i) keyed[i] = {sortable_bits(x[i]), static_cast<Row>(i)};
      sort(keyed);
      orders.make_list(j);
      Row* list = orders.list(j);
      for (std::size_t i = 0; i < sample.n_rows; ++i) list[i] = keyed[i].row;
    }
  };
  pool.run(n_tasks, true, sort_columns);
  return orders;
}

}  // namespace ferl
