#include "core/walk.h"

#include "core/kernels.h"

namespace ferl {

// Three plain loops, none with a branch that depends on the data: gather the values, compute the firings, keep those
// above zero.
void fire_node(const Node& node, const Block& block, bool gated, const Firing& parent, Firing& firing) {
  const std::size_t n = parent.size;
  const double* column = block.x.data + static_cast<std::ptrdiff_t>(block.first) * block.x.row_stride +
                         static_cast<std::ptrdiff_t>(node.column) * block.x.column_stride;
  double x[kBlockRows], phi[kBlockRows];
  for (std::size_t i = 0; i < n; ++i) x[i] = column[static_cast<std::ptrdiff_t>(parent.row[i]) * block.x.row_stride];
  if (node.is_categorical())
    for (std::size_t i = 0; i < n; ++i) phi[i] = parent.phi[i] * node.fits(x[i]) * (gated ? node.opens(x[i]) : 1.0);
  else
    kernels().fire(n, x, parent.phi.data(), node.membership, node.share, gated ? &node.gate : nullptr, phi);
  std::size_t size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    firing.row[size] = parent.row[i];
    firing.phi[size] = phi[i];
    size += phi[i] > 0;
  }
  firing.size = size;
}

}  // namespace ferl
