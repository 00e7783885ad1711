// The exemplars of a tree, laid out for a search of the nearest one; made once and kept.
#pragma once

#include "bind/tree.h"
#include "read/novelty.h"

namespace ferl::python {

class BoundExemplars {
 public:
  BoundExemplars(const BoundTree& tree, const CMatrix& exemplar_row, const Indices& exemplar,
                 const std::vector<NodeId>& group, const Vector& centre, const Vector& per_unit,
                 const Codes& n_categories);
  BoundExemplars(const BoundTree& tree, const CMatrix& exemplar_row, const Indices& exemplar, const Codes& group,
                 const Vector& centre, const Vector& per_unit, const Codes& n_categories);

  void distance(const Matrix& x, int n_threads, OutMatrix out) const;

 private:
  const BoundTree& tree_;  // Python keeps it alive
  std::size_t n_features_;
  Exemplars exemplars_;
};

}  // namespace ferl::python
