// Attention out of PyTorch's own operators, some rows at a time: exact on any device, without n x n memory.
//
// For devices that have no kernels here yet. Softmax maps with every mask, law and score term; the gradient forms the
// scores of the same rows again. What needs several passes or our random numbers (other maps, target entropy, dropout,
// key groups) takes the CPU's kernels on copies.
#pragma once

#include "pytorch/attention.hpp"

namespace isentropic::pytorch {

ISENTROPIC_API ForwardOperator chunked_forward;
ISENTROPIC_API BackwardOperator chunked_backward;

}  // namespace isentropic::pytorch
