// Kernels for NVIDIA GPUs, where they were built (ISENTROPIC_CUDA): they announce themselves when the library is
// loaded.
#pragma once

#include <optional>

#include "pytorch/attention.hpp"

namespace isentropic::pytorch {

struct CudaKernels {
  // isentropic::attention of problems that they take; nothing for others.
  std::optional<Forward> (*forward)(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                    const std::optional<at::Tensor>& value, at::TensorList terms);
};

// Null: none were built.
inline const CudaKernels*& cuda_kernels() {
  static const CudaKernels* kernels = nullptr;
  return kernels;
}

}  // namespace isentropic::pytorch
