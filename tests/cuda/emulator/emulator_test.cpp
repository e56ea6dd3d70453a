// The emulator itself: it reports kernels that break a rule, and makes those that lack a barrier or a wait compute NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention/cuda/instructions.cuh"
#include "attention/cuda/thread_block.cuh"

namespace isentropic::cuda {
namespace {

constexpr int kThreads = 128;

float* numbers_of_block() { return reinterpret_cast<float*>(block_memory()); }

std::string error_of(void (*kernel)(), std::size_t bytes = 1024) {
  try {
    launch_kernel(kernel, 1, kThreads, bytes, nullptr);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

void some_threads_leave() {
  if (threadIdx.x < 100) __syncthreads();
}
void half_a_warp_shuffles() {
  if (threadIdx.x % 32 < 16) __shfl_xor_sync(0xffffffffu, 1, 1);
}
void two_barriers_meet() {
  if (threadIdx.x < 64)
    __syncthreads();
  else
    __syncthreads_or(1);
}
void writes_beyond_its_memory() { block_memory()[1024 + threadIdx.x] = 0; }
void reads_a_row_beyond_its_memory() {
  std::uint32_t out[4];
  load_fragments(out, 1024);
}

TEST(Emulator, SaysWhichRuleIsBroken) {
  EXPECT_EQ(error_of(some_threads_leave), "__syncthreads is reached by 100 of 128 threads; 28 have ended");
  EXPECT_EQ(error_of(half_a_warp_shuffles), "__shfl_xor_sync is reached by 64 threads whose warps never come whole");
  EXPECT_NE(error_of(two_barriers_meet).find(" where others are at __syncthreads"), std::string::npos);
  EXPECT_EQ(error_of(writes_beyond_its_memory), "block 0 wrote beyond its 1024 bytes of shared memory");
  EXPECT_NE(error_of(reads_a_row_beyond_its_memory).find("shared memory at 1024, 16 bytes"), std::string::npos);
  EXPECT_EQ(error_of([] { __syncthreads(); }), "");
}

// Each thread writes its number and reads that of the thread mirrored in the block.
template <bool kWaits>
void reads_of_another(float* out) {
  numbers_of_block()[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (kWaits) __syncthreads();
  out[threadIdx.x] = numbers_of_block()[kThreads - 1 - threadIdx.x];
}

TEST(Emulator, AMissingBarrierShows) {
  std::vector<float> found(kThreads);
  launch_kernel(reads_of_another<true>, 1, kThreads, kThreads * 4, nullptr, found.data());
  for (int t = 0; t < kThreads; ++t) ASSERT_EQ(found[static_cast<std::size_t>(t)], kThreads - 1 - t);
  launch_kernel(reads_of_another<false>, 1, kThreads, kThreads * 4, nullptr, found.data());
  int nan = 0;
  for (const float x : found) nan += std::isnan(x);
  EXPECT_GT(nan, 0);
}

// The second of two groups of copies is in flight while the first is read.
template <int kPending>
void copies(const float* from, float* out) {
  const std::uint32_t to = shared_address(numbers_of_block() + threadIdx.x);
  copy_number(to, from + threadIdx.x, true);
  commit_copies();
  copy_number(to + kThreads * 4, from, false);
  commit_copies();
  wait_for_copies<kPending>();
  out[threadIdx.x] = numbers_of_block()[threadIdx.x];
  out[kThreads + threadIdx.x] = numbers_of_block()[kThreads + threadIdx.x];
}

TEST(Emulator, ACopyIsThereWhenItWasWaitedFor) {
  std::vector<float> from(kThreads, 3), found(2 * kThreads);
  launch_kernel(copies<0>, 1, kThreads, 2 * kThreads * 4, nullptr, from.data(), found.data());
  EXPECT_EQ(found[5], 3);
  EXPECT_EQ(found[kThreads + 5], 0);
  launch_kernel(copies<1>, 1, kThreads, 2 * kThreads * 4, nullptr, from.data(), found.data());
  EXPECT_EQ(found[5], 3);
  EXPECT_TRUE(std::isnan(found[kThreads + 5]));
  launch_kernel(copies<2>, 1, kThreads, 2 * kThreads * 4, nullptr, from.data(), found.data());
  EXPECT_TRUE(std::isnan(found[5]));
}

// Ties go to even; subnormals keep their last place.
TEST(Emulator, RoundsToSixteenBits) {
  EXPECT_EQ(__nv_bfloat16(1 + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(__nv_bfloat16(1 + 0x3p-8f).bits, 0x3f82);
  EXPECT_EQ(__half(1 + 0x1p-11f).bits, 0x3c00);
  EXPECT_EQ(__half(1 + 0x3p-11f).bits, 0x3c02);
  EXPECT_EQ(__half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(__half(-65520.0f).bits, 0xfc00);
  EXPECT_EQ(__half(0x1p-24f).bits, 1);
  EXPECT_EQ(__half(0x1p-25f).bits, 0);
  EXPECT_EQ(static_cast<float>(__half(0x3p-24f)), 0x3p-24f);
  EXPECT_TRUE(std::isnan(static_cast<float>(__half(NAN))));
}

}  // namespace
}  // namespace isentropic::cuda
