#include "learn/presort.h"

#include <algorithm>
#include <numeric>

#include "learn/sort.h"

namespace ferl {

Orders presort(const Sample& sample, ThreadPool& pool) {
  Orders orders;
  orders.n_rows = sample.n_rows;
  orders.columns.resize(sample.n_columns);
  std::iota(orders.columns.begin(), orders.columns.end(), 0);
  orders.rows.resize(sample.n_rows * sample.n_columns);

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
      Row* list = orders.list(j);
      for (std::size_t i = 0; i < sample.n_rows; ++i) list[i] = keyed[i].row;
    }
  };
  pool.run(n_tasks, true, sort_columns);
  return orders;
}

}  // namespace ferl
