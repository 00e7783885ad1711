#include "rules/kernels.h"

#include <type_traits>

#include "core/kernels.h"
#include "core/simd.h"
#if FERL_MULTIVERSION
#include <immintrin.h>
#endif

namespace ferl::rules {

namespace {

// Eight rows have a bit each. The rows with a set bit have values in sequence: at[bits][row] is the index of a row's
// value.
struct ValueOfRow {
  std::uint8_t at[256][8];
  constexpr ValueOfRow() : at() {
    for (unsigned bits = 0; bits < 256; ++bits)
      for (unsigned row = 0, next = 0; row < 8; next += bits >> row++ & 1)
        at[bits][row] = static_cast<std::uint8_t>(next % 8);
  }
};
[[maybe_unused]] constexpr ValueOfRow kValueOfRow;  // the baseline does without

#define FERL_KERNELS_FILE "rules/kernels.inc"
#define FERL_KERNELS(isa)                                                               \
  {isa::scores,      isa::products,        isa::residuals,     isa::probabilities,      \
   isa::fill_bins,   isa::weigh_rows,      isa::add_bins,      isa::add_word,           \
   isa::factor,      isa::solve,           isa::solve_several, isa::multiply_trapezoid, \
   isa::mark,        isa::unpack,          isa::move_chances,  isa::grid_residuals,     \
   isa::add_chances, isa::multiply_floats, isa::best_pairs,    isa::add_products}
#include "core/instruction_sets.inc"

}  // namespace

const Kernels& kernels() {
  static const Kernels chosen = choose();
  return chosen;
}

}  // namespace ferl::rules
