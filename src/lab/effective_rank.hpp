// The effective rank of a matrix: e^H of its normalised singular values (Roy & Vetterli, 2007).
//
//   r = exp(-sum_i p_i log p_i),   p_i = sigma_i / sum_k sigma_k
//
// At most the rank; 1 if all rows are multiples of one row, n for the n x n identity, 0 for a zero matrix.
#pragma once

#include <ATen/core/Tensor.h>

namespace isentropic::lab {

// [..., rows, columns] to [...], in float64 on the tensor's device.
at::Tensor effective_rank(const at::Tensor& matrices);

}  // namespace isentropic::lab
