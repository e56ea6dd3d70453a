// Rotary positions on the CUDA kernel.
#include <c10/core/DeviceGuard.h>

#include "attention/cuda/rotation.hpp"
#include "pytorch/cuda/attention_cuda.hpp"
#include "pytorch/cuda/stream.hpp"
#include "pytorch/device_rotation.hpp"

namespace isentropic::pytorch {
namespace {

cuda::Strides strides_of(const at::Tensor& x) { return {x.stride(0), x.stride(1), x.stride(2)}; }

// Leaves out y.
cuda::Rotation described(const at::Tensor& x, const Rotation& rotation) {
  return {.type = x.scalar_type() == at::kHalf ? cuda::ElementType::float16 : cuda::ElementType::bfloat16,
          .batch = x.size(0),
          .heads = x.size(1),
          .n = x.size(2),
          .d = x.size(3),
          .x = x.const_data_ptr(),
          .x_stride = strides_of(x),
          .cosine = rotation.cosine.const_data_ptr<float>(),
          .sine = rotation.sine.const_data_ptr<float>()};
}

bool fits(const at::Tensor& x, const Rotation& rotation) {
  const auto is_given = [&](const at::Tensor& numbers) {
    return numbers.scalar_type() == at::kFloat && numbers.device() == x.device() && numbers.is_contiguous() &&
           numbers.sizes() == x.sizes().slice(2) && !numbers.requires_grad();
  };
  return x.dim() == 4 && x.numel() > 0 && (x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf) &&
         x.stride(3) == 1 && is_given(rotation.cosine) && is_given(rotation.sine) && is_supported(x.get_device()) &&
         cuda::fits_rotation(described(x, rotation));
}

// y has the strides of x: what follows a gradient, or values laid out by position, reads both in the same way.
at::Tensor turn(const at::Tensor& x, const Rotation& rotation, bool back) {
  const c10::DeviceGuard guard(x.device());
  at::Tensor y = at::empty_like(x);
  cuda::Rotation described_rotation = described(x, rotation);
  described_rotation.y = y.mutable_data_ptr(), described_rotation.y_stride = strides_of(y);
  described_rotation.turns_back = back;
  require_launched(cuda::rotate(described_rotation, current_cuda_stream(x.get_device())));
  return y;
}

[[maybe_unused]] const bool rotation_announced = (rotate_on_cuda() = {fits, turn}, true);

}  // namespace
}  // namespace isentropic::pytorch
