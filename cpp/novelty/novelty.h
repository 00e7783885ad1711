// How unlike the training rows a row is: readings of what the rows of each node look like.
#pragma once

#include <vector>

#include "core/tree.h"
#include "core/types.h"
#include "novelty/exemplar_codes.h"
#include "novelty/units.h"

namespace ferl {

// The exemplars of the nodes where paths can end, laid out for a search of the nearest one: sixteen side by side,
// feature by feature, numbers first.
class Exemplars {
 public:
  // `row`: [exemplar][feature]; `exemplar`: [node][per_node], indices of rows, -1 where a node has fewer; `group`:
  // [node], the node whose exemplars are searched when a row's path ends there, or -1 where no path ends.
  Exemplars(std::vector<double> row, const NodeId* exemplar, std::size_t per_node, const std::vector<NodeId>& group,
            Scale scale);

  // For each row of x the mean over its known features of the distance, in units, from the nearest exemplar in
  // the groups of the nodes where its paths end: leaves, or words below which no word matches.
  // `out`: [row][n_out]; n_out = 1: the distance; n_features: what each feature adds to it.
  void distance(const Tree& tree, const MatrixView& x, int n_threads, std::size_t n_out, double* out) const;

 private:
  struct Group {
    std::size_t begin = 0, n = 0;  // vectors of exemplars in lanes_
  };

  void measure(const double* x, std::ptrdiff_t stride, bool has_missing, NodeId exemplar, std::size_t n_out,
               double* out) const;

  std::vector<double> row_;  // [exemplar][feature]; the centre where a number is missing
  Units units_of_;
  std::vector<Group> group_;    // [node]
  AlignedVector<float> units_;  // as the kernel nearest_exemplar wants them
  ExemplarCodes codes_;         // of the same
  std::vector<NodeId> index_;   // [vector of exemplars][lane], of a row
};

// Adds to out ([row][feature], the caller passes zeros) the paper's residual: over the leaves a row reaches (the root,
// where it reaches none), weighted by firing without gates, the squared distance from the leaf's mean times its
// precision ([node][feature], zero for features that do not count there). Missing features count nothing.
void residual(const Tree& tree, const MatrixView& x, const double* mean, const double* precision, int n_threads,
              double* out);

}  // namespace ferl
