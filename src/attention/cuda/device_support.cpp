// Queries the compute capability of a GPU.
#include "attention/cuda/device_support.hpp"

namespace isentropic::cuda {

std::string why_unsupported(cudaError_t answer, int major, int minor) {
  if (answer != cudaSuccess) return std::string("CUDA says: ") + cudaGetErrorString(answer);
  if (major >= kOldestMajor) return "";
  return "its compute capability is " + std::to_string(major) + "." + std::to_string(minor) + ", and they need " +
         std::to_string(kOldestMajor) + ".0 or newer";
}

std::string why_unsupported(int device) {
  int major = 0, minor = 0;
  cudaError_t answer = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (answer == cudaSuccess) answer = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  return why_unsupported(answer, major, minor);
}

}  // namespace isentropic::cuda
