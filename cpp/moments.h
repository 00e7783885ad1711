// What a finished tree learns from all rows in one pass: sums only, so that blocks can be added and results merged.
#pragma once

#include <vector>

#include "parallel.h"
#include "tree.h"
#include "types.h"

namespace ferl {

struct Moments {
  std::vector<double> class_weight;  // [node][class]: firing times weight
  std::vector<double> low, high;     // [node]: range of the node's own feature over the rows that reached its parent

  Moments() = default;
  Moments(std::size_t n_nodes, int n_classes);
  void add(const Tree& tree, const TableView& table, std::size_t from, std::size_t to, double weight_scale);
  void merge(const Moments& other);
};

// The same bits for any number of threads: rows are summed in fixed pieces and the pieces merged in order.
Moments take_moments(const Tree& tree, const TableView& table, double weight_scale, int n_threads, Monitor& monitor);

}  // namespace ferl
