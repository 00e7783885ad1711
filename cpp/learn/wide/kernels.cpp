#include "learn/wide/kernels.h"

#include "core/kernels.h"
#include "core/simd.h"

namespace ferl::wide {

namespace {

#define FERL_KERNELS_FILE "learn/wide/kernels.inc"
#define FERL_KERNELS(isa) \
  {isa::scores,   isa::products, isa::residuals, isa::probabilities, isa::fill_bins,          isa::weigh_rows, \
   isa::add_bins, isa::factor,   isa::solve,     isa::solve_several, isa::multiply_trapezoid, isa::best_pairs}
#include "core/instruction_sets.inc"

}  // namespace

const Kernels& kernels() {
  static const Kernels chosen = choose();
  return chosen;
}

}  // namespace ferl::wide
