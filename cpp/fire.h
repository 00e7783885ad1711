// Readings of the firings themselves: the firing of every node, and the routing mass lost to each feature's gate.
#pragma once

#include "tree.h"
#include "types.h"

namespace ferl {

// out: [row][node], zeros made by the caller.
void fire_nodes(const Tree& tree, const MatrixView& x, bool gated, int n_threads, double* out);

// The membership and the gate of each of these nodes' own conditions at each row, whatever is above the node; those of
// the root, which has none, are 1. membership, gate: [row][k], for the k-th of the n_nodes.
void node_conditions(const Tree& tree, const MatrixView& x, const NodeId* nodes, std::size_t n_nodes, double* membership,
                     double* gate);

// out: [row][feature], zeros made by the caller. Each node adds to its feature the firing that its gate withholds. Where
// the conditions below every node sum to one, as those of a split do, a row's sum is one minus the total firing of the
// leaves.
void support_deficit(const Tree& tree, const MatrixView& x, int n_threads, double* out);

}  // namespace ferl
