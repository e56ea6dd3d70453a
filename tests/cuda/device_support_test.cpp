// Which GPUs and drivers the kernels support.
#include "attention/cuda/device_support.hpp"

#include <gtest/gtest.h>

namespace isentropic::cuda {
namespace {

TEST(CudaDeviceSupport, BeginsWithSm80) {
  EXPECT_EQ(why_unsupported(cudaSuccess, 8, 0), "");
  EXPECT_EQ(why_unsupported(cudaSuccess, 12, 1), "");
  EXPECT_EQ(why_unsupported(cudaSuccess, 7, 5), "its compute capability is 7.5, and they need 8.0 or newer");
}

TEST(CudaDeviceSupport, PassesOnWhatCudaSays) {
  EXPECT_EQ(why_unsupported(cudaErrorInsufficientDriver, 0, 0),
            std::string("CUDA says: ") + cudaGetErrorString(cudaErrorInsufficientDriver));
}

}  // namespace
}  // namespace isentropic::cuda
