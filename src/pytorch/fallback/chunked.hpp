// Attention composed of PyTorch's own operators, some rows at a time: exact on any device, without n x n memory.
//
// For devices without kernels here yet. Supports softmax maps with every mask, law and score term; the backward pass
// recomputes the scores of the same rows. What needs several passes or our random numbers (other maps, target entropy,
// dropout, key groups) runs on copies with the CPU's kernels.
#pragma once

#include "pytorch/attention.hpp"

namespace isentropic::pytorch {

ISENTROPIC_API ForwardOperator chunked_forward;
ISENTROPIC_API BackwardOperator chunked_backward;

}  // namespace isentropic::pytorch
