// Shared by the attention operators on the CUDA kernels, and the operators themselves, one per file.
#pragma once

#include "attention/problem/problem_spec.hpp"
#include "pytorch/attention.hpp"
#include "pytorch/cuda/device_problem.hpp"
#include "pytorch/cuda_kernels.hpp"
#include "pytorch/row_state.hpp"

namespace isentropic::pytorch {

// Whether the kernels run on a device; if they do not, the first call warns.
bool is_supported(std::int64_t device);

// Only softmax has kernels; the other maps are computed on the CPU.
inline bool has_kernels(c10::string_view text, const at::Tensor& query) {
  return cached_spec(text)->map.kind() == ScoreMap::Kind::softmax && query.dim() == 4 &&
         is_supported(query.get_device());
}

// The address of an entry of the first axis of a contiguous tensor: like select(), without creating a tensor.
inline void* entry(const at::Tensor& stacked, std::int64_t index) {
  return static_cast<char*>(stacked.mutable_data_ptr()) +
         index * (stacked.numel() / stacked.size(0)) * stacked.element_size();
}

inline std::int64_t* count_entry(const at::Tensor& row_counts, std::int64_t index) {
  return static_cast<std::int64_t*>(entry(row_counts, index));
}

// The fields of row_state.hpp under the kernels' names.
inline cuda::RowArrays arrays_of(const at::Tensor& rows, const at::Tensor& row_counts) {
  cuda::RowArrays out;
  void** const fields[] = {&out.m, &out.z, &out.u, &out.w, &out.c};
  for (std::int64_t field = 0; field + kMaximumField < rows.size(0); ++field)
    *fields[field] = entry(rows, field + kMaximumField);
  out.k = count_entry(row_counts, 0), out.a = count_entry(row_counts, 1);
  return out;
}

using CudaForward = std::remove_pointer_t<decltype(CudaKernels::forward)>;
using CudaBackward = std::remove_pointer_t<decltype(CudaKernels::backward)>;
using CudaKeyMass = std::remove_pointer_t<decltype(CudaKernels::key_mass)>;
using CudaWeights = std::remove_pointer_t<decltype(CudaKernels::weights)>;
using CudaPartial = std::remove_pointer_t<decltype(CudaKernels::partial)>;
using CudaFinish = std::remove_pointer_t<decltype(CudaKernels::finish)>;
CudaForward forward_on_cuda;
CudaBackward backward_on_cuda;
CudaKeyMass key_mass_on_cuda;
CudaWeights weights_on_cuda;
CudaPartial partial_on_cuda;
CudaFinish finish_on_cuda;

}  // namespace isentropic::pytorch
