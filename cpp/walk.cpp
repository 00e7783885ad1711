#include "walk.h"

#include "simd.h"

namespace ferl {

// Three plain loops, none with a branch that depends on the data: gather the values, compute the firings (the compiler
// makes vectors of it), keep those above zero. Measured 4 times as fast as one walk per row.
FERL_CLONES void fire_node(const Node& node, const Block& block, bool gated, const Firing& parent, Firing& firing) {
  const std::size_t n = parent.size;
  const double* column = block.x.data + static_cast<std::ptrdiff_t>(block.first) * block.x.row_stride +
                         static_cast<std::ptrdiff_t>(node.column) * block.x.column_stride;
  const std::ptrdiff_t stride = block.x.row_stride;
  double x[kBlockRows], phi[kBlockRows];
  for (std::size_t i = 0; i < n; ++i) x[i] = column[static_cast<std::ptrdiff_t>(parent.row[i]) * stride];

  const Trapezoid membership = node.membership;
  for (std::size_t i = 0; i < n; ++i) phi[i] = parent.phi[i] * membership(x[i]);
  if (gated) {
    const Gate gate = node.gate;
    for (std::size_t i = 0; i < n; ++i) phi[i] *= gate(x[i]);
  }

  std::size_t size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    firing.row[size] = parent.row[i];
    firing.phi[size] = phi[i];
    size += phi[i] > 0;
  }
  firing.size = size;
}

}  // namespace ferl
