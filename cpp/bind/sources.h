// What the nodes of a tree say, made once and kept.
#pragma once

#include "bind/tree.h"
#include "read/evidence.h"

namespace ferl::python {

using Flags = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // bool or uint8

class BoundSources {
 public:
  BoundSources(const BoundTree& tree, const CMatrix& consequent, const Vector& reliability,
               std::vector<std::uint8_t> is_source, const std::string& combination, bool gated);
  BoundSources(const BoundTree& tree, const CMatrix& consequent, const Vector& reliability, const Flags& is_source,
               const std::string& combination, bool gated);

  void combine(const Matrix& x, int n_threads, OutMatrix belief, OutVector ignorance, OutVector conflict) const;
  void certified_radius(const Matrix& x, const Codes& label, const Vector& scale, int n_threads, OutVector out) const;
  void nearest_flips(const Matrix& row, int label, const Codes& columns, const Vector& width, OutMatrix at,
                     OutMatrix proven) const;

 private:
  const BoundTree& tree_;  // Python keeps it alive
  Sources sources_;
};

}  // namespace ferl::python
