// The operators isentropic::attention_partial, attention_merge and attention_finish: rows whose keys are in several
// places (isentropic/attention.hpp, Partial), as tensors.
//
// Between a partial pass and the finish everything is in the type of sums. The backward pass of a place is
// attention_backward with its keys and the results of attention_finish: it returns that place's contribution to the
// gradients.
#pragma once

#include "pytorch/attention.hpp"

namespace isentropic::pytorch {

// output      [batch, heads, n_q, d_v]: sum_j e^{s_j - m} v_j
// rows        as in Forward, and row_counts
// groups      for key groups, float64 [batch, heads, n_q, 3, 8]; else empty
using PartialTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

using PartialOperator = PartialTensors(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                       const at::Tensor& value, at::TensorList terms);

// The problem's description of its keys is ignored here.
using FinishOperator = Forward(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value, at::TensorList terms, const at::Tensor& output,
                               const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor& groups);

// The operators, dispatched on the device. Parts may be merged in any order, up to rounding.
ISENTROPIC_API PartialOperator attention_partial;
ISENTROPIC_API PartialTensors attention_merge(const at::Tensor& output, const at::Tensor& rows,
                                              const at::Tensor& row_counts, const at::Tensor& groups,
                                              const at::Tensor& other_output, const at::Tensor& other_rows,
                                              const at::Tensor& other_counts, const at::Tensor& other_groups);
ISENTROPIC_API FinishOperator attention_finish;

}  // namespace isentropic::pytorch
