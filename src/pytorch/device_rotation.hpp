// Rotary positions on a GPU, where a kernel for them was built: it announces itself when the library is loaded.
#pragma once

#include "isentropic/pytorch/positions.hpp"

namespace isentropic::pytorch {

struct DeviceRotate {
  // 16-bit x [batch, heads, n, d] on a GPU, all of whose features turn by a float32 rotation [n, d].
  bool (*fits)(const at::Tensor& x, const Rotation& rotation) = nullptr;
  // Of what fits, back where a gradient goes back.
  at::Tensor (*turn)(const at::Tensor& x, const Rotation& rotation, bool back) = nullptr;
};

// Without functions: none was built.
inline DeviceRotate& rotate_on_cuda() {
  static DeviceRotate rotate;
  return rotate;
}

}  // namespace isentropic::pytorch
