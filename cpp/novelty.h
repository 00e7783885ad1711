// How unlike the training rows a row is: readings of what each leaf's rows look like.
#pragma once

#include <vector>

#include "tree.h"
#include "types.h"

namespace ferl {

// The exemplars of some nodes, scaled, for a search of the nearest one: eight side by side, feature by feature.
class Exemplars {
 public:
  // `exemplar`: [node][per_node], places in `row`, -1 where a node has fewer; `row`: [exemplar][feature]; `scale`: what
  // one unit of distance is, by feature. Only leaves and the root are searched.
  Exemplars(const Tree& tree, const std::vector<NodeId>& exemplar, std::size_t per_node, const double* row,
            const std::vector<double>& scale);

  // For each row of x the nearest exemplar among those of the leaves it reaches (of the root, where it reaches none),
  // by the mean over features of the distance in units of scale; -1 where there is none.
  void nearest(const Tree& tree, const MatrixView& x, int n_threads, NodeId* place, double* distance) const;

 private:
  struct Group {
    std::size_t begin = 0, n = 0;  // whole vectors of exemplars in lanes_
  };

  std::vector<double> scale_;
  std::vector<Group> group_;     // [node]
  std::vector<double> lanes_;    // [vector of exemplars][feature][lane]
  std::vector<NodeId> place_;    // [vector of exemplars][lane]
};

// Adds to out ([row][feature], zeros made by the caller) the paper's residual: over the leaves a row reaches, weighted by
// firing, the squared distance from the leaf's mean times its precision ([node][feature], zero for features that do not
// count there).
void residual(const Tree& tree, const MatrixView& x, const double* mean, const double* precision, int n_threads,
              double* out);

}  // namespace ferl
