// All inner loops on Highway vectors; included by kernels_highway.cpp once per target, hence no include guard.
#include "attention/cpu/kernels/highway_products-inl.hpp"
#include "attention/cpu/kernels/highway_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace isentropic {
namespace HWY_NAMESPACE {

// The chains have different starting values so that compilers cannot merge them, and there are enough of them to hide
// latency.
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
