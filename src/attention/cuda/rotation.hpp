// Rotary positions on the device: the pairs (x_t, x_{t + d/2}) of every row are rotated by angles given as cosines and
// sines, in float32, and rounded once.
#pragma once

#include "attention/cuda/tensor_cores.hpp"

namespace isentropic::cuda {

struct Rotation {
  ElementType type = ElementType::bfloat16;  // of x and y
  std::int64_t batch = 0, heads = 0, n = 0, d = 0;
  const void* x = nullptr;
  void* y = nullptr;
  Strides x_stride = {}, y_stride = {};
  const float *cosine = nullptr, *sine = nullptr;  // [n, d]: a pair's value is at t; the copy at t + d/2 is not read
  bool turns_back = false;                         // by the negative angles, as for gradients
};

inline bool fits_rotation(const Rotation& r) {
  const auto fits = [&](const void* data, const Strides& stride) {
    return rows_begin_at(data, stride, r.batch, r.heads, r.n, 16);
  };
  return (r.type == ElementType::bfloat16 || r.type == ElementType::float16) && r.d % (2 * kChunkNumbers) == 0 &&
         r.batch * r.heads * r.n * r.d < std::int64_t{1} << 31 && fits(r.x, r.x_stride) && fits(r.y, r.y_stride);
}

// Requires fits_rotation(rotation).
cudaError_t rotate(const Rotation& rotation, cudaStream_t stream);

}  // namespace isentropic::cuda
