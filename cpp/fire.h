// Readings of the firings themselves: the firing of every node, and the routing mass lost to each feature's gate.
#pragma once

#include "tree.h"
#include "types.h"

namespace ferl {

// out: [row][node], zeros made by the caller.
void fire_nodes(const Tree& tree, const MatrixView& x, bool gated, int n_threads, double* out);

// out: [row][feature], zeros made by the caller. Each internal node o adds phi_o (1 - gate_o) to its split feature;
// the row's sum is one minus the total firing of the leaves.
void support_deficit(const Tree& tree, const MatrixView& x, int n_threads, double* out);

}  // namespace ferl
