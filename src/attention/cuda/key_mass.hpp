// Column sums of the weights on tensor cores, from the rows' finished records: the mass that each key is given.
#pragma once

#include "attention/cuda/problem.hpp"

namespace isentropic::cuda {

// Whether there is a kernel for the problem.
bool has_key_mass(const Problem& problem);

// float [batch, heads, n_k], from m and z of the rows; added up in a fixed order.
cudaError_t key_mass(const Problem& problem, const RowArrays& rows, void* key_mass, cudaStream_t stream);

}  // namespace isentropic::cuda
