// Whether a GPU, and its driver, can run these kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace isentropic::cuda {

inline constexpr int kOldestMajor = 8;  // compute capability: sm_80

// Empty if they can; otherwise the reason, phrased to follow "because": from a device's answer, or by asking the
// device.
std::string why_unsupported(cudaError_t answer, int major, int minor);
std::string why_unsupported(int device);

}  // namespace isentropic::cuda
