#include "lanes.h"

#include "split.h"

namespace ferl {

namespace {

namespace baseline {
#include "lanes.inc"
}

#if FERL_MULTIVERSION
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
namespace v3 {
#include "lanes.inc"
}
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
namespace v4 {
#include "lanes.inc"
}
#pragma GCC pop_options
#endif

LaneKernels choose() {
#if FERL_MULTIVERSION
  __builtin_cpu_init();
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (has_v4) return {v4::cuts_two_classes, v4::cuts_many_classes, v4::tally_absent};
  if (has_v3) return {v3::cuts_two_classes, v3::cuts_many_classes, v3::tally_absent};
#endif
  return {baseline::cuts_two_classes, baseline::cuts_many_classes, baseline::tally_absent};
}

}  // namespace

const LaneKernels& lane_kernels() {
  static const LaneKernels kernels = choose();
  return kernels;
}

}  // namespace ferl
