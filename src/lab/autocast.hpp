// Autocast on CUDA: matrix products in bfloat16, parameters and sums in float32.
#pragma once

#include <ATen/autocast_mode.h>

namespace isentropic::lab {

// Enables autocast during its lifetime, if wanted.
class Autocast {
 public:
  explicit Autocast(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    at::autocast::set_autocast_enabled(at::kCUDA, true);
    at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  }
  ~Autocast() {
    if (!wanted_) return;
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCUDA, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool wanted_;
};

}  // namespace isentropic::lab
