// Column sums of the weights on tensor cores, from the rows' finished records: the mass each key receives.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Whether there is a kernel for the problem.
bool has_key_mass(const Problem& problem);

// key_mass: float [batch, heads, n_k], from m and z of the rows; summed in a fixed order.
cudaError_t key_mass(const Problem& problem, const RowArrays& rows, void* key_mass, cudaStream_t stream);

}  // namespace isentropic::cuda
