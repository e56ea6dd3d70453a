// PyTorch's current CUDA stream, and checks of kernel launches.
#pragma once

#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdint>

namespace isentropic::pytorch {

// Found at run time through PyTorch's C interface: a build against a CPU wheel also works with a CUDA one.
inline cudaStream_t current_cuda_stream(std::int64_t device) {
  using Function = std::int32_t(std::int32_t, void**);
  static const auto function = [] {
    void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    return library ? reinterpret_cast<Function*>(dlsym(library, "aoti_torch_get_current_cuda_stream")) : nullptr;
  }();
  void* stream = nullptr;
  TORCH_CHECK(function && function(static_cast<std::int32_t>(device), &stream) == 0,
              "isentropic: PyTorch's CUDA library does not tell the current stream");
  return static_cast<cudaStream_t>(stream);
}

inline void require_launched(cudaError_t error) {
  TORCH_CHECK(error == cudaSuccess, "isentropic: ", cudaGetErrorString(error));
}

}  // namespace isentropic::pytorch
