// Each feature sorted once per fit; nodes keep sublists of these orders and never sort again.
#pragma once

#include <memory>
#include <vector>

#include "core/thread_pool.h"
#include "core/types.h"
#include "learn/sample.h"

namespace ferl {

// For each feature that still varies, the rows of one node by ascending value, those without a value last. Ties keep
// canonical order.
struct Orders {
  std::size_t n_rows = 0;
  std::vector<Column> columns;
  std::vector<Row> rows;  // columns.size() lists of n_rows

  const Row* list(std::size_t k) const { return rows.data() + k * n_rows; }
  Row* list(std::size_t k) { return rows.data() + k * n_rows; }
};

Orders presort(const Sample& sample, ThreadPool& pool);

}  // namespace ferl
