#include "proofs/row_proof.h"

#include <cmath>

namespace ferl {

// An upright side bends at two neighbouring numbers.
void add_bends(const Trapezoid& membership, std::vector<double>& at) {
  for (const int outward : {-1, 1}) {
    const Side& side = outward < 0 ? membership.rise : membership.fall;
    if (!(side.slope > 0)) continue;
    const double inner =
        std::isinf(side.slope) ? std::nextafter(side.start, -outward * kInfinity) : side.start - outward / side.slope;
    at.insert(at.end(), {side.start, inner});
  }
}

void add_bends(const Gate& gate, std::vector<double>& at) {
  const double reach = 1 / gate.slope;
  at.insert(at.end(), {gate.low - reach, gate.low, gate.high, gate.high + reach});
}

}  // namespace ferl
