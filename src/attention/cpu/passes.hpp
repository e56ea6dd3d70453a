// The CPU's passes over a validated problem whose row scales are known. attention.cpp chooses among them.
#pragma once

#include "attention/dims.hpp"

namespace isentropic {

enum class OutputUse : std::uint8_t { compute, skip };

// What every forward pass starts from: the scales, and a zero output where one is wanted.
inline AttentionResult empty_result(const AttentionProblem& problem, RowScales scales, OutputUse output) {
  const Dims dims(problem);
  AttentionResult result;
  result.scales = std::move(scales);
  if (output == OutputUse::compute)
    result.output = Tensor(problem.query.type, {dims.batch, dims.heads, dims.n_q, dims.d_v});
  return result;
}

// Maps that stream block by block: softmax and Gumbel.
AttentionResult softmax_forward(const AttentionProblem& problem, RowScales scales, OutputUse output);
Partial softmax_partial(const AttentionProblem& problem, RowScales scales);
AttentionGradients softmax_backward(const AttentionProblem& problem, const RowScales& scales,
                                    const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                    const std::vector<std::int64_t>& hard_keys, BiasGradient bias);
Tensor softmax_key_mass(const AttentionProblem& problem, const AttentionResult& forward);

// Every map, a few rows at a time with all their scores in a buffer of length n_k.
AttentionResult rows_forward(const AttentionProblem& problem, RowScales scales, OutputUse output);
AttentionGradients rows_backward(const AttentionProblem& problem, const AttentionResult& forward,
                                 const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                 BiasGradient bias);
Tensor rows_key_mass(const AttentionProblem& problem, const AttentionResult& forward);
Tensor rows_weights(const AttentionProblem& problem, const RowScales& scales, const std::vector<std::int64_t>& rows);

// Linear features and decay in O(n).
AttentionResult recurrent_forward(const AttentionProblem& problem, RowScales scales, OutputUse output);

}  // namespace isentropic
