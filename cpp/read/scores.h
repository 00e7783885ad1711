// Weights of evidence: the scores of an additive model, and the masses that they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tree.h"
#include "core/types.h"

namespace ferl {

// What the rules of a model add up. A rule ends at a node; its weights count in proportion to the node's firing.
struct Weights {
  std::vector<std::int32_t> rule_of;  // [node]: the rule that ends there, or -1
  std::vector<double> weight;         // [rule][class]
  std::vector<double> size;           // [rule]: sum of the absolute weights
  std::vector<double> prior;          // [class]
  double prior_size = 0;
  int n_classes = 0;
};

// One gate for each column that a rule asks: where a row lies outside what training saw, all weights count for less.
struct Supports {
  std::vector<Column> column;
  std::vector<Gate> gate;
  std::vector<std::int32_t> n_categories;  // of the column; 0: it holds numbers
  // How open the gate of the k-th of these columns is to a value.
  double opens(std::size_t k, double x) const;
};

struct MassView {
  double *belief, *plausibility, *probability;  // [row][class]
  double *ignorance, *conflict;                 // [row]
};

// F = s (prior + sum of firing times weight), where s is the product of the gates; `out`: [row][class].
void add_scores(const Tree& tree, const Weights& weights, const Supports& supports, const MatrixView& x, int n_threads,
                double* out);
// The masses of each row's scores, in closed form.
void weigh_evidence(const Tree& tree, const Weights& weights, const Supports& supports, const MatrixView& x,
                    int n_threads, MassView out);

}  // namespace ferl
