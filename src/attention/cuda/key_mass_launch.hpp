// The key-mass kernels, each compiled in its own file (key_mass_instance.cu.in).
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

struct KeyMassProblem {
  Problem problem;  // with kv_heads = heads: each query head is processed separately,
  int sharers = 1;  // and this many of them read the same keys
  const float *m = nullptr, *z = nullptr;
  float* mass = nullptr;
};

// extras: a soft cap or slopes
template <ElementType type, int d, bool extras>
cudaError_t launch_key_mass(const KeyMassProblem& problem, cudaStream_t stream);

}  // namespace isentropic::cuda
