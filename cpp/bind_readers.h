// What reads a tree with more than its conditions: the sources of evidence and the exemplars, made once and kept.
#pragma once

#include "bind_tree.h"
#include "evidence.h"
#include "novelty.h"

namespace ferl::python {

using Flags = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // bool or uint8
using Indices = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

class BoundSources {
 public:
  BoundSources(const BoundTree& tree, const CMatrix& consequent, const Vector& reliability,
               std::vector<std::uint8_t> is_source, const std::string& combination, bool gated);
  BoundSources(const BoundTree& tree, const CMatrix& consequent, const Vector& reliability, const Flags& is_source,
               const std::string& combination, bool gated);

  void combine(const Matrix& x, int n_threads, OutMatrix belief, OutVector ignorance, OutVector conflict) const;
  void certified_radius(const Matrix& x, const Codes& label, const Vector& scale, int n_threads, OutVector out) const;

 private:
  const BoundTree& tree_;  // Python keeps it alive
  Sources sources_;
};

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
