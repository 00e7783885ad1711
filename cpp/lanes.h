// Sweeps over a node's sorted rows that serve eight resamples at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd.h"
#include "types.h"

namespace ferl {

// A node's rows by ascending value, and their multiplicities in eight resamples.
struct LaneRows {
  std::size_t n;
  const Row* row;
  const Label* y;
  const double* value;
  const double* weight;
  const double* occurrence;    // weight of one occurrence in a resample
  const std::uint8_t* counts;  // [row of the sample][lane]
  int n_classes;
};

// The three sweeps, compiled once for each instruction set.
struct LaneKernels {
  // Gini-optimal cut of each resample with at least `min_weight` on either side; NaN where nothing separates.
  void (*cuts_two_classes)(const LaneRows& rows, double min_weight, double* cuts);
  void (*cuts_many_classes)(const LaneRows& rows, double min_weight, LaneCell* class_total, LaneCell* class_left,
                            double* cuts);
  // Class weights of the rows absent from each resample: all, left of the resample's own cut, left by `membership`.
  void (*tally_absent)(const LaneRows& rows, const double* cuts, const double* membership, LaneCell* all,
                       LaneCell* crisp, LaneCell* soft);
};

const LaneKernels& lane_kernels();  // for the machine this runs on

}  // namespace ferl
