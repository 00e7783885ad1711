// Best-first growth of a fuzzy tree under budgets.
#pragma once

#include <cstdint>
#include <vector>

#include "band.h"
#include "canonical.h"
#include "parallel.h"
#include "types.h"

namespace ferl {

struct GrowOptions {
  BandOptions band;
  std::size_t max_rules = 150;
  std::size_t max_depth = 12;
  double min_gain = 0;      // share of the whole weight; a split below it is weak
  int patience = 0;         // weak splits in a row that growth goes through in search of a strong one
  double min_coverage = 0;  // share of the whole weight a node needs to be split
  int n_resamples = 25;
  std::size_t n_banded = 1;  // features per node that get a band: the best by their crisp cut
  int n_threads = 1;
};

// The splits of a tree, in pre-order.
struct GrownTree {
  std::vector<NodeId> parent;
  std::vector<Column> column;          // -1 at the root, as the parent
  std::vector<Band> band;              // of the split the node is a side of
  std::vector<std::uint8_t> is_left;
  std::vector<Gain> gain;              // of the split below the node; zero at leaves
};

GrownTree grow(const Sample& sample, const GrowOptions& options, Monitor& monitor);

}  // namespace ferl
