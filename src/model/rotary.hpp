// Frequencies of rotary positions (applied by isentropic/pytorch/positions.hpp), and the ways to scale them.
//
//   none     f_t = theta^(-2 t / r)
//   linear   f_t / factor
//   llama3   f_t for wavelengths below original / high, f_t / factor above original / low, interpolated in between
//   yarn     f_t / factor where a pair turns less than beta_slow times in the original length, f_t where it turns
//            more than beta_fast times, a ramp between; cosines and sines times 0.1 log(factor) + 1
#pragma once

#include <ATen/ATen.h>

#include "isentropic/pytorch/positions.hpp"
#include "model/description.hpp"

namespace isentropic::model {

// 0.1 m log(factor) + 1, or 1 for factors up to 1.
double yarn_amplitude(double factor, double m = 1);

// [r / 2], float32.
at::Tensor inverse_frequencies(const Rotary& rotary);

// Cosines and sines [n, r] of positions [n], in `type`.
pytorch::Rotation rotation(const Rotary& rotary, const at::Tensor& positions, at::ScalarType type);

}  // namespace isentropic::model
