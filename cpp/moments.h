// What a finished tree learns from all rows in one pass.
//
// Sums are kept in fixed point: integers add up to the same bits in any order, so the result depends neither on the
// order of the rows nor on how they are cut into blocks, threads or machines, and partial results can be merged.
#pragma once

#include <vector>

#include "canonical.h"
#include "parallel.h"
#include "tree.h"
#include "types.h"

namespace ferl {

class Moments {
 public:
  // `most_weight`: an upper bound of a row's weight. A weight is kept to 2^-62 of it.
  Moments(std::size_t n_nodes, int n_classes, double most_weight);

  void add(const Tree& tree, const TableView& table);
  void merge(const Moments& other);

  std::vector<double> class_weight() const;  // [node][class]: firing times weight
  std::vector<double> low, high;  // [node]: range of the node's own feature over the rows that reached its parent

 private:
  __extension__ using Sum = __int128;  // 62 bits for one row, 32 for the number of rows

  double unit_;  // a power of two, so that scaling rounds nothing
  std::vector<Sum> sums_;
};

// Over all canonical rows of the table.
Moments take_moments(const Tree& tree, const TableView& table, const CanonicalRows& canonical, int n_threads,
                     Monitor& monitor);

}  // namespace ferl
