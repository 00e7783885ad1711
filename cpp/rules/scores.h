// Weights of evidence: the scores of an additive model, their probabilities, and the training rows behind these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cases/cases.h"
#include "core/tree.h"
#include "core/types.h"
#include "rules/curves_and_maps.h"
#include "rules/rows_behind.h"

namespace ferl {

// What the terms of a model add up. A rule ends at a node; its weights count in proportion to the node's firing.
struct RuleWeights {
  std::vector<std::int32_t> rule_of;  // [node]: the rule that ends there, or -1
  std::vector<double> weight;         // [rule][class]
  std::vector<double> size;           // [rule]: sum of the absolute weights
  std::vector<double> prior;          // [class]
  std::vector<double> base;           // [class]: the scores without any support, from class frequencies
  double prior_size = 0;
  int n_classes = 0;
  CurvesAndMaps curves;
  const Cases* cases = nullptr;  // not owned
  // Columns that are read, each once, and the positions of the nodes', gates' and curves' columns among them.
  std::vector<Column> columns;
  std::vector<std::size_t> column_of_node, column_of_gate, column_of_curve;
};

// One gate for each column that a rule uses: outside the training range, all weights count for less and the class
// frequencies for more. The last columns are level: their gates reduce the belief but fade no score, since fading would
// break a monotone constraint.
struct Supports {
  std::vector<Column> column;
  std::vector<Gate> gate;
  std::vector<std::int32_t> n_categories;  // of the column; 0: it holds numbers
  std::size_t n_fading = 0;                // columns before the level ones
  // How open the gate of the k-th of these columns is to a value.
  double opens(std::size_t k, double x) const;
};

// Fills in the columns of the weights.
void list_columns(const Tree& tree, const Supports& supports, RuleWeights& weights);

struct WeighedView {
  double* probability;                  // [row][class]
  double *conflict, *support, *n_rows;  // [row]: what cancelled, how open all gates are, training rows behind
};

// s F + (1 - s) base, where F = prior + sum of firing times weight and s is the product of the gates that fade scores:
// with all of them open the summed weights to the last bit, with one closed the class frequencies; `out`: [row][class].
void add_scores(const Tree& tree, const RuleWeights& weights, const Supports& supports, const MatrixView& x,
                int n_threads, double* out);
// The softmax of each row's scores, [row][class].
void give_probabilities(const Tree& tree, const RuleWeights& weights, const Supports& supports, const MatrixView& x,
                        int n_threads, double* out);
// The same of one row, to the last bit: blocks are for many.
void give_probabilities(const Tree& tree, const RuleWeights& weights, const Supports& supports, const double* row,
                        double* out);
// What the evidence of each row is made of: the softmax of its scores, and what they rest on.
void weigh_evidence(const Tree& tree, const RuleWeights& weights, const Supports& supports, const RowsBehind& behind,
                    const MatrixView& x, int n_threads, WeighedView out);
// Entropy in nats of the probabilities that each row's scores mean; `out`: [row].
void measure_entropy(const Tree& tree, const RuleWeights& weights, const Supports& supports, const MatrixView& x,
                     int n_threads, double* out);

}  // namespace ferl
