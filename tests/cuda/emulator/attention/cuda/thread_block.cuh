// Launches and dynamic shared memory, for the emulator.
#pragma once

#include <cuda_runtime_api.h>

namespace isentropic::cuda {

template <class... Parameters, class... Arguments>
cudaError_t launch_kernel(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, std::size_t shared, cudaStream_t,
                          const Arguments&... arguments) {
  if (blocks.x > 0) emulator::run_grid(blocks, threads, shared, [&] { kernel(arguments...); });
  return cudaSuccess;
}

inline unsigned char* block_memory() { return emulator::dynamic_shared(); }

}  // namespace isentropic::cuda
