// How unlike the training rows a row is: readings of what the rows of each node look like.
#pragma once

#include <vector>

#include "tree.h"
#include "types.h"

namespace ferl {

// The unit of distance of each feature, and the origin that values are measured from.
struct Scale {
  const double* centre;
  const double* per_unit;  // one over it
};

// The exemplars of the nodes where paths can end, laid out for a search of the nearest one: sixteen side by side,
// feature by feature.
class Exemplars {
 public:
  // `exemplar`: [node][per_node], places in `row`, -1 where a node has fewer; `row`: [exemplar][feature].
  Exemplars(const Tree& tree, const NodeId* exemplar, std::size_t per_node, const double* row, std::size_t n_features,
            const Scale& scale);

  // For each row of x the mean over features of its distance, in units, from the nearest exemplar: among those of the
  // nodes where its paths end, which are leaves or words below which it fits none. A node without exemplars has those
  // of the node above. `out`: [row][n_out]; n_out = 1: the distance; n_features: what each feature adds to it.
  void distance(const Tree& tree, const MatrixView& x, int n_threads, std::size_t n_out, double* out) const;

 private:
  struct Group {
    std::size_t begin = 0, n = 0;  // vectors of exemplars in lanes_
  };

  void measure(const double* x, std::ptrdiff_t stride, NodeId exemplar, std::size_t n_out, double* out) const;
  void to_units(const double* values, std::ptrdiff_t stride, float* out) const;

  const double* row_;
  std::size_t n_features_;
  Scale scale_;
  std::vector<Group> group_;   // [node]
  std::vector<float> lanes_;   // [vector of exemplars][feature][lane], in units
  std::vector<NodeId> place_;  // [vector of exemplars][lane]
};

// Adds to out ([row][feature], zeros made by the caller) the paper's residual: over the leaves a row reaches (the root,
// where it reaches none), weighted by firing without gates, the squared distance from the leaf's mean times its
// precision ([node][feature], zero for features that do not count there).
void residual(const Tree& tree, const MatrixView& x, const double* mean, const double* precision, int n_threads,
              double* out);

}  // namespace ferl
