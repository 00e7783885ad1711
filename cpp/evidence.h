// From firings to masses: how the evidence of the nodes is combined, row by row.
//
// A source is a mass on single classes, s(c), and the rest on the whole frame. Bel(c) is the combined mass of class c.
#pragma once

#include <vector>

#include "tree.h"
#include "types.h"

namespace ferl {

enum class Rule {
  dempster,  // the sources are independent
  cautious,  // the sources may repeat each other: the strongest support of each class counts once (Denoeux 2008)
  chain,     // cautious along a path, Dempster across paths
  vote       // the mixture of the sources' distributions, weighted by firing
};

struct EvidenceOptions {
  Rule rule = Rule::dempster;
  bool all_nodes = false;  // every node but the root is a source, not only the leaves
  bool gated = true;
  int n_threads = 1;
};

// Rows of zeros are made for the caller: belief [row][class], ignorance and conflict [row].
struct EvidenceView {
  double* belief;
  double* ignorance;
  double* conflict;
};

// consequent: [node][class]; reliability: [node], what a node's firing is multiplied by.
void combine_evidence(const Tree& tree, const std::vector<double>& consequent, const std::vector<double>& reliability,
                      int n_classes, const MatrixView& x, const EvidenceOptions& options, EvidenceView out);

}  // namespace ferl
