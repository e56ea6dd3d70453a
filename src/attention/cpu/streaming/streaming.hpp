// The streaming passes of softmax and Gumbel maps: keys block by block, one record per row. See
// attention/passes/passes.hpp for what each one does.
#pragma once

#include "attention/passes/passes.hpp"

namespace isentropic {

AttentionResult softmax_forward(const AttentionProblem& problem, RowState state, OutputUse output);
Partial softmax_partial(const AttentionProblem& problem, RowState state);
AttentionGradients softmax_backward(const AttentionProblem& problem, const RowState& state,
                                    const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                    const std::vector<std::int64_t>& hard_keys, BiasGradient bias);
Tensor softmax_key_mass(const AttentionProblem& problem, const AttentionResult& forward);
void solve_target_entropy(const AttentionProblem& problem, RowState& state);

}  // namespace isentropic
