// The inner loops on Highway vectors, compiled once per instruction set. Highway is used header-only: kernels.cpp
// selects the set.
#include "attention/cpu/kernels/kernels_highway.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)  // below AVX2 the plain code is used
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/cpu/kernels/highway_kernels-inl.hpp"
#include <hwy/foreach_target.h>
// foreach_target.h has included it for every target but the last.
#include "attention/cpu/kernels/highway_kernels-inl.hpp"

namespace isentropic {
namespace {

#if HWY_ARCH_X86
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#define ISENTROPIC_KERNELS(target)                                                                           \
  target::Product_, target::Dots, target::Weigh, target::SoftCap, target::RowMaximum, target::FindScaled,    \
      target::Exponentiate, target::ExponentiateLocated, target::Sum, target::FmaBurst, target::GradientRow, \
      target::AddWeights

constexpr Kernels kAvx512 = {"avx512", has_avx512, ISENTROPIC_KERNELS(N_AVX3)};
constexpr Kernels kAvx2 = {"avx2", has_avx2, ISENTROPIC_KERNELS(N_AVX2)};
#endif

}  // namespace

std::vector<const Kernels*> highway_kernels() {
#if HWY_ARCH_X86
  return {&kAvx512, &kAvx2};
#else
  return {};
#endif
}

}  // namespace isentropic
