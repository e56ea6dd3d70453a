// Kernels for NVIDIA GPUs, if they were built (ISENTROPIC_CUDA): they register themselves when the library is loaded.
#pragma once

#include <optional>

#include "pytorch/partial.hpp"

namespace isentropic::pytorch {

// The operators of the same names for problems that the kernels support; empty results for others.
struct CudaKernels {
  std::optional<Forward> (*forward)(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                    const std::optional<at::Tensor>& value, at::TensorList terms);
  std::optional<Backward> (*backward)(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                      const std::optional<at::Tensor>& value, at::TensorList terms,
                                      const at::Tensor& output, const at::Tensor& rows, const at::Tensor& row_counts,
                                      const at::Tensor& selected, const std::optional<at::Tensor>& output_gradient,
                                      const std::optional<at::Tensor>& statistics_gradient, bool bias_gradient);
  std::optional<at::Tensor> (*key_mass)(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                        at::TensorList terms, const at::Tensor& rows, const at::Tensor& row_counts,
                                        const at::Tensor& selected);
  std::optional<at::Tensor> (*weights)(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                       at::TensorList terms, at::IntArrayRef rows,
                                       const std::optional<at::Tensor>& finished, std::int64_t first_key);
  std::optional<PartialTensors> (*partial)(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                           const at::Tensor& value, at::TensorList terms);
  std::optional<Forward> (*finish)(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                   const at::Tensor& value, at::TensorList terms, const at::Tensor& output,
                                   const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor& groups);
};

// Null if none were built.
inline const CudaKernels*& cuda_kernels() {
  static const CudaKernels* kernels = nullptr;
  return kernels;
}

}  // namespace isentropic::pytorch
