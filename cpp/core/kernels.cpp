#include "core/kernels.h"

#include <cstdlib>
#include <string_view>
#include <type_traits>
#if FERL_MULTIVERSION
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace ferl {

namespace {

// Registers of 512 bits were no faster in any of these loops, and slower in the search for neighbours.
#define FERL_NO_V4
#define FERL_KERNELS_FILE "core/kernels.inc"
#define FERL_KERNELS(isa)  \
  {isa::cuts_two_classes,  \
   isa::cuts_many_classes, \
   isa::tally_absent,      \
   isa::fire,              \
   isa::open,              \
   isa::add_weighted,      \
   isa::add_squares,       \
   isa::standardise,       \
   isa::tally_term,        \
   isa::judge_term,        \
   isa::to_units,          \
   isa::distance_parts,    \
   isa::encode,            \
   isa::nearest_exemplar,  \
   isa::distances,         \
   isa::approach,          \
   isa::add_to_runs,       \
   isa::take_from_runs,    \
   isa::sum_powers}
#include "core/instruction_sets.inc"

}  // namespace

int instruction_set() {
#if FERL_MULTIVERSION
  const char* wish = std::getenv("FERL_INSTRUCTION_SET");
  const std::string_view most = wish ? wish : "x86-64-v4";
  __builtin_cpu_init();
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (has_v4 && most == "x86-64-v4") return 4;
  if (has_v3 && most != "baseline") return 3;
#endif
  return 0;
}

const Kernels& kernels() {
  static const Kernels chosen = choose();
  return chosen;
}

}  // namespace ferl
