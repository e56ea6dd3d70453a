// Rotary positions on a GPU, if a kernel for them was built: it registers itself when the library is loaded.
#pragma once

#include "isentropic/pytorch/positions.hpp"

namespace isentropic::pytorch {

struct DeviceRotate {
  // Whether x is 16-bit [batch, heads, n, d] on a GPU, with all features rotated by a float32 rotation [n, d].
  bool (*fits)(const at::Tensor& x, const Rotation& rotation) = nullptr;
  // Requires fits(x, rotation); `back` rotates backwards, as for a gradient.
  at::Tensor (*turn)(const at::Tensor& x, const Rotation& rotation, bool back) = nullptr;
};

// Without functions if none was built.
inline DeviceRotate& rotate_on_cuda() {
  static DeviceRotate rotate;
  return rotate;
}

}  // namespace isentropic::pytorch
