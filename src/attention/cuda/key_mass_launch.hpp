// The kernels of key mass, each compiled from a file of its own (key_mass_instance.cu.in).
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

struct KeyMassProblem {
  Problem problem;  // kv_heads is as heads: each head of the queries is walked by itself,
  int sharers = 1;  // and so many of them read the same keys
  const float *m = nullptr, *z = nullptr;
  float* mass = nullptr;
};

// extras: a soft cap or slopes.
template <ElementType type, int d, bool extras>
cudaError_t launch_key_mass(const KeyMassProblem& problem, cudaStream_t stream);

}  // namespace isentropic::cuda
