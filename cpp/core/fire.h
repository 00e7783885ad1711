// Readings of the firings themselves: the firing of every node, and the routing mass lost to each feature's gate.
#pragma once

#include "core/tree.h"
#include "core/types.h"

namespace ferl {

// out: [row][node]; the caller passes zeros.
void fire_nodes(const Tree& tree, const MatrixView& x, bool gated, int n_threads, double* out);

// out: [row][feature]; the caller passes zeros. Each node adds to its feature the firing that its gate withholds. Where
// the conditions below every node sum to one, as in a split, a row's sum is one minus the total firing of the
// leaves.
void support_deficit(const Tree& tree, const MatrixView& x, int n_threads, double* out);

}  // namespace ferl
