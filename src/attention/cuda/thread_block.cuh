// Kernel launches, and the dynamic shared memory of their thread blocks.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace isentropic::cuda {

// Launches with `shared` bytes of dynamic shared memory. A no-op for 0 blocks.
template <class... Parameters, class... Arguments>
cudaError_t launch_kernel(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, std::size_t shared,
                          cudaStream_t stream, const Arguments&... arguments) {
  if (blocks.x == 0) return cudaSuccess;
  if (shared > 0) {
    const cudaError_t error = cudaFuncSetAttribute(
        reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    if (error != cudaSuccess) return error;
  }
  kernel<<<blocks, threads, shared, stream>>>(arguments...);
  return cudaGetLastError();
}

__device__ inline unsigned char* block_memory() {
  extern __shared__ __align__(1024) unsigned char memory[];
  return memory;
}

}  // namespace isentropic::cuda
