// What a model can answer within a box: bounds on every firing, and the largest box in which something holds.
//
// The box of radius r around a row x holds every row y with |y(f) - x(f)| <= r * scale(f) for all features f. All
// bounds are sound in floating point; see box_walk.h. Radii of labels are in trees/label_proof.h and
// rules/score_proof.h.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/parallel.h"
#include "core/tree.h"
#include "core/types.h"

namespace ferl {

// Calls read(row) for every row; make() gives each task its own reader and scratch memory.
template <class Make>
void over_rows(std::size_t n_rows, int n_threads, const Make& make) {
  constexpr std::size_t kRowsPerTask = 16;
  auto task = [&](std::size_t t) {
    auto read = make();
    for (std::size_t i = t * kRowsPerTask; i < std::min((t + 1) * kRowsPerTask, n_rows); ++i) read(i);
  };
  parallel_for((n_rows + kRowsPerTask - 1) / kRowsPerTask, n_threads, task, [] {});
}

// Bounds of every node's firing over the box around each row: low and high are [row][node], the caller passes zeros.
void bound_firings(const Tree& tree, const MatrixView& x, double radius, const double* scale, bool gated, int n_threads,
                   double* low, double* high);

// For each row the largest radius within which the gate of every node that can be reached is fully open.
void open_radius(const Tree& tree, const MatrixView& x, const double* scale, int n_threads, double* radius);

}  // namespace ferl
