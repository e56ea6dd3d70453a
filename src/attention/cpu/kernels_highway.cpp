// The inner loops on Highway vectors, compiled once for each instruction set. Highway serves as headers alone: the
// choice among the sets is made in kernels.cpp.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)  // below AVX2 the plain code serves
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/cpu/kernels_highway.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes before those that each pass includes anew.
#include "attention/cpu/highway_products-inl.hpp"
#include "attention/cpu/highway_rows-inl.hpp"
#include "attention/cpu/kernels_highway.hpp"

HWY_BEFORE_NAMESPACE();
namespace isentropic {
namespace HWY_NAMESPACE {

// Chains start apart, so that no compiler finds them equal; enough of them to hide the latency of each.
double FmaBurst(std::int64_t rounds) {
  const Tag tag;
  constexpr int kChains = 12;
  Vector sums[kChains];
  for (int chain = 0; chain < kChains; ++chain) sums[chain] = hn::Set(tag, static_cast<float>(chain));
  const Vector factor = hn::Set(tag, 0.999f), step = hn::Set(tag, 0.001f);
  for (std::int64_t round = 0; round < rounds; ++round)
    for (Vector& sum : sums) sum = hn::MulAdd(sum, factor, step);
  volatile float kept = 0;
  for (const Vector& sum : sums) kept = kept + hn::GetLane(sum);
  return 2.0 * kChains * static_cast<double>(lanes()) * static_cast<double>(rounds);
}

}  // namespace HWY_NAMESPACE
}  // namespace isentropic
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isentropic {
namespace {

#if HWY_ARCH_X86
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#define ISENTROPIC_KERNELS(target)                                                                        \
  target::Product_, target::Dots, target::Weigh, target::SoftCap, target::RowMaximum, target::FindScaled, \
      target::IndexSum, target::Exponentiate, target::Sum, target::FmaBurst, target::GradientRow

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
#endif
