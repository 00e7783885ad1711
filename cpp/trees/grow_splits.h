// Best-first growth of a fuzzy tree under budgets.
#pragma once

#include <cstdint>
#include <vector>

#include "core/parallel.h"
#include "core/thread_pool.h"
#include "core/tree.h"
#include "core/types.h"
#include "rows/sample.h"
#include "trees/band.h"

namespace ferl {

struct SplitOptions {
  BandOptions band;
  std::size_t max_rules = 150;
  std::size_t max_depth = 12;
  double min_gain = 0;      // share of the whole weight; a split below it is weak
  int patience = 0;         // weak splits in a row that growth goes through in search of a strong one
  double min_coverage = 0;  // share of the whole weight a node needs to be split
  int n_resamples = 25;
  std::size_t n_banded = 1;        // features per node that get a band: the best by their crisp cut
  std::vector<double> class_unit;  // [class]: weight of a single row
  std::vector<int> monotone;    // [column], two classes: 1: the second one's share may only rise with it, -1: only fall
  std::size_t n_exemplars = 0;  // rows that each node will keep
  int n_threads = 1;
};

GrownTree grow_splits(const Sample& sample, const SplitOptions& options, Monitor& monitor);

}  // namespace ferl
