// Chooses the kernels of a forward pass on a GPU.
#include <utility>

#include "attention/cuda/argmax.hpp"
#include "attention/cuda/forward.hpp"
#include "attention/cuda/key_groups.hpp"
#include "attention/cuda/plain.hpp"
#include "attention/cuda/split.hpp"
#include "pytorch/cuda/device_problem.hpp"

namespace isentropic::pytorch {
namespace {

// `fast` is the problem padded for tensor cores. If key groups remain to be computed, they are left set in `output`.
cudaError_t run_on_tensor_cores(DeviceProblem& on, const cuda::Problem& fast, cuda::ForwardOutput& output) {
  const cuda::KeyGroupArrays groups = std::exchange(output.groups, {});
  cudaError_t error = cudaSuccess;
  if (!fast.active && cuda::has_split_forward(fast)) {
    error = cuda::split_forward(fast, output, on.workspace(cuda::split_workspace(fast)), on.stream);
    output.groups = groups;
    return error;
  }
  cuda::ForwardOutput call = output;
  if (groups.any() && cuda::has_forward_with_groups(fast)) {
    call.groups = groups;
    call.groups.drowned = static_cast<std::int32_t*>(on.workspace(cuda::forward_groups_workspace(fast)));
  } else {
    output.groups = groups;
  }
  error = cuda::forward(fast, call, on.stream);
  return error == cudaSuccess && output.rows.a ? cuda::argmax(fast, output.rows.a, on.stream) : error;
}

// Writes to memory as wide as the padded heads, then copies the result to its destination.
cudaError_t run_padded(DeviceProblem& on, const cuda::Problem& fast, cuda::ForwardOutput& output) {
  if (!output.output || fast.d_v == on.device.d_v) return run_on_tensor_cores(on, fast, output);
  const at::ScalarType type = output.real_output ? on.real : on.query.scalar_type();
  const at::Tensor wide = on.empty({fast.batch, fast.heads, fast.n_q, fast.d_v}, type);
  void* const narrow_data = std::exchange(output.output, wide.mutable_data_ptr());
  const cuda::Strides stride = std::exchange(output.output_stride, strides_of(wide));
  const cudaError_t error = run_on_tensor_cores(on, fast, output);
  if (error != cudaSuccess) return error;
  at::Tensor narrow = at::from_blob(
      narrow_data, {fast.batch, fast.heads, fast.n_q, on.device.d_v}, {stride.batch, stride.head, stride.row, 1},
      [](void*) {}, wide.options());
  narrow.copy_(wide.narrow(3, 0, on.device.d_v));
  return cudaSuccess;
}

bool is_for_tensor_cores(const cuda::Problem& fast, const cuda::ForwardOutput& output) {
  return (!fast.active && cuda::has_split_forward(fast)) ||
         (cuda::has_forward(fast) && (!output.rows.a || cuda::has_argmax(fast)));
}

}  // namespace

cudaError_t run_forward(DeviceProblem& on, const cuda::ForwardOutput& output) {
  const std::optional<cuda::Problem> fast = on.for_tensor_cores();
  cuda::ForwardOutput call = output;
  const cudaError_t error = fast && is_for_tensor_cores(*fast, call) ? run_padded(on, *fast, call)
                                                                     : cuda::plain_forward(on.device, call, on.stream);
  if (error != cudaSuccess || !call.groups.any()) return error;
  return fast && cuda::has_key_groups(*fast) ? cuda::key_groups(*fast, call.groups, on.stream)
                                             : cuda::plain_key_groups(on.device, call.groups, on.stream);
}

}  // namespace isentropic::pytorch
