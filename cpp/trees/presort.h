// Each feature sorted once per fit; nodes keep sublists of these orders and never sort again.
#pragma once

#include <memory>
#include <vector>

#include "core/free_memory.h"
#include "core/thread_pool.h"
#include "core/types.h"
#include "rows/sample.h"

namespace ferl {

// For each feature that still varies, the rows of one node by ascending value, those without a value last. Ties keep
// canonical order.
class Orders {
 public:
  Orders(std::size_t n_rows, std::vector<Column> columns);

  std::size_t n_rows = 0;
  std::vector<Column> columns;

  const Row* list(std::size_t k) const { return piece_[k / per_piece_].data() + k % per_piece_ * n_rows; }
  Row* list(std::size_t k) { return piece_[k / per_piece_].data() + k % per_piece_ * n_rows; }

  // Whether lists are long: each has memory of its own, which is there from when it is made until it is freed.
  bool is_large() const { return per_piece_ == 1; }
  void make_list(std::size_t k) {
    if (is_large()) piece_[k].resize(n_rows);
  }
  void free_list(std::size_t k) { free_memory(piece_[k]); }
  // Drops all lists but the first ones.
  void keep(std::size_t n_lists);

 private:
  std::size_t per_piece_;
  std::vector<std::vector<Row>> piece_;  // lists, per_piece_ in each: all of them in one where they are short
};

Orders presort(const Sample& sample, ThreadPool& pool);

}  // namespace ferl
