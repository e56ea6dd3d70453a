// A problem whose tensors are on a GPU, in the form the kernels take (attention/cuda/problem.hpp). The host never reads
// a tensor's values: masks, laws and terms are evaluated on the device.
#pragma once

#include <ATen/ATen.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "attention/cuda/rows.hpp"
#include "attention/problem/problem_spec.hpp"

namespace isentropic::pytorch {

inline cuda::Strides strides_of(const at::Tensor& x) { return {x.stride(0), x.stride(1), x.stride(2)}; }

class DeviceProblem {
 public:
  DeviceProblem(std::string_view text, const at::Tensor& query, const at::Tensor& key,
                const std::optional<at::Tensor>& value, at::TensorList terms);
  DeviceProblem(const DeviceProblem&) = delete;

  // Computes the scale of every row, or takes those of a forward pass; `lambda` [batch, heads, n_q] is written and
  // kept. For target entropies, `status` and passes, int64 of the same shape, are written too.
  void find_scales(const at::Tensor& lambda, std::int64_t* status);
  void take_scales(const at::Tensor& lambda);
  // One scale for all rows: find_scales then leaves filling `lambda` to whoever writes the rows.
  bool has_one_scale() const { return !device.scales; }

  // The problem with rows at multiples of 16 bytes and heads zero-padded to 64 or 128 or, if wider, to a multiple of 8;
  // none if no tensor-core kernel supports it.
  std::optional<cuda::Problem> for_tensor_cores();

  // From dlambda of every row to gradients of the law's parameters; dlambda itself if the scale is per_row.
  at::Tensor scale_gradient(const at::Tensor& lambda_gradient);

  // Device memory that lives as long as this object.
  void* workspace(std::size_t bytes);
  at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type);
  at::Tensor keep(at::Tensor tensor);
  // One of the tensors besides query, key and value.
  const at::Tensor& problem_term(std::string_view name) const { return *find(name); }

  std::shared_ptr<const ProblemSpec> spec;
  AttentionProblem problem;  // shapes and options; for the other tensors only their sizes
  cuda::Problem device;
  at::ScalarType real;
  at::Tensor query, key, value;
  const std::int32_t* positions_in_document = nullptr;
  cudaStream_t stream;

 private:
  const at::Tensor* find(std::string_view name) const;
  void bind_mask();
  void bind_terms();
  bool is_shard() const;
  bool has_split_keys() const;
  cuda::SpanMask span_mask();
  void bind_shard(cuda::SpanMask& spans);
  void find_spans();
  void check_terms() const;
  cuda::ScaleFormula formula();
  void solve_target_entropy(const at::Tensor& lambda, std::int64_t* status);
  const std::int64_t* visible_counts();
  at::Tensor counts_of_whole();
  const void* by_head(const at::Tensor& numbers);
  cuda::LawParameter law_parameter(std::size_t index);
  cuda::DenseTerm dense(const at::Tensor& tensor);
  cuda::IntegerList integers(const at::Tensor& tensor);

  std::vector<at::Tensor> terms_, kept_;
  const std::int64_t* counts_ = nullptr;
};

// Runs the forward kernels that suit the problem, including those for key groups.
cudaError_t run_forward(DeviceProblem& problem, const cuda::ForwardOutput& output);

}  // namespace isentropic::pytorch
