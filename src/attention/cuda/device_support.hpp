// Whether a GPU, and its driver, can run these kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace isentropic::cuda {

inline constexpr int kOldestMajor = 8;  // of compute capability: sm_80

// Empty: they can. Else why not, in words that follow "because": of what a device answered, or of a device that is
// asked.
std::string why_unsupported(cudaError_t answer, int major, int minor);
std::string why_unsupported(int device);

}  // namespace isentropic::cuda
