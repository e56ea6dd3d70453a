// The passes that keep whole rows of scores, and the recurrent form. See attention/passes/passes.hpp for what each one
// does.
#pragma once

#include "attention/passes/passes.hpp"

namespace isentropic {

AttentionResult whole_rows_forward(const AttentionProblem& problem, RowState state, OutputUse output);
AttentionGradients whole_rows_backward(const AttentionProblem& problem, const AttentionResult& forward,
                                       const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                       BiasGradient bias);
Tensor whole_rows_key_mass(const AttentionProblem& problem, const AttentionResult& forward);
Tensor whole_rows_weights(const AttentionProblem& problem, const RowState& state,
                          const std::vector<std::int64_t>& rows);
AttentionResult recurrent_forward(const AttentionProblem& problem, RowState state, OutputUse output);

}  // namespace isentropic
