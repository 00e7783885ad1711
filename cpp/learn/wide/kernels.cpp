#include "learn/wide/kernels.h"

#include "core/kernels.h"
#include "core/simd.h"

namespace ferl::wide {

namespace {

// FERL_DOUBLES: how many fit into a register.
namespace baseline {
#define FERL_DOUBLES 2
#include "learn/wide/kernels.inc"
#undef FERL_DOUBLES
}

#if FERL_MULTIVERSION
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
namespace v3 {
#define FERL_DOUBLES 4
#include "learn/wide/kernels.inc"
#undef FERL_DOUBLES
}
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
namespace v4 {
#define FERL_DOUBLES 8
#include "learn/wide/kernels.inc"
#undef FERL_DOUBLES
}
#pragma GCC pop_options
#endif

#define FERL_WIDE_KERNELS(isa) \
  {isa::scores, isa::products, isa::residuals, isa::probabilities, isa::fill_bins, isa::best_pairs}

Kernels choose() {
#if FERL_MULTIVERSION
  if (instruction_set() == 4) return FERL_WIDE_KERNELS(v4);
  if (instruction_set() == 3) return FERL_WIDE_KERNELS(v3);
#endif
  return FERL_WIDE_KERNELS(baseline);
}

}  // namespace

const Kernels& kernels() {
  static const Kernels chosen = choose();
  return chosen;
}

}  // namespace ferl::wide
