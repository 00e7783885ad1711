// From firings to masses: how the evidence of the nodes is combined, row by row.
//
// A source is a mass on single classes, s(c), and the rest on the whole frame. Bel(c) is the combined mass of class c.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tree.h"
#include "core/types.h"

namespace ferl {

enum class Combination {
  dempster,  // the sources are independent
  cautious,  // the sources may repeat each other: the strongest support of each class counts once (Denoeux 2008)
  chain,     // cautious along a path, whose nodes all speak as its end fires, and Dempster across paths
  vote       // the mixture of the sources' distributions, weighted by firing
};

// Cautious weights are not defined for a source that leaves nothing to ignorance: it keeps this much.
inline constexpr double kMostFiring = 1 - 1e-12;

// Masses that differ by no more are equal: what tells them apart is rounding, which differs from one runtime to another.
inline constexpr double kTie = 1e-12;

// Many conflicting sources make all masses tiny together; below kLeastMass they are scaled up before they underflow.
inline constexpr double kLeastMass = 0x1p-400, kMassScale = 0x1p400;

// The evidence of the nodes of a tree, and how it is combined.
struct Sources {
  std::vector<double> consequent;       // [node][class]
  std::vector<double> reliability;      // [node], what a node's firing is multiplied by
  std::vector<std::uint8_t> is_source;  // [node]; with the rule chain: the path of evidence ends here
  int n_classes = 0;
  Combination combination = Combination::dempster;
  bool gated = true;
};

// Where the answers go: belief [row][class], ignorance and conflict [row].
struct EvidenceView {
  double* belief;
  double* ignorance;
  double* conflict;
};

void combine_evidence(const Tree& tree, const Sources& sources, const MatrixView& x, int n_threads, EvidenceView out);

}  // namespace ferl
