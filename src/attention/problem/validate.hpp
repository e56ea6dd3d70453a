// Checks of a caller's problem, before any work: an Error names the argument, its value and what was expected.
#pragma once

#include "isentropic/attention.hpp"

namespace isentropic {

enum class ValueUse : std::uint8_t { required, ignored };

void validate(const AttentionProblem& problem, ValueUse value = ValueUse::required);
// `result` must be what a forward pass of `problem` returned.
void validate(const AttentionProblem& problem, const AttentionResult& result);
// The scales of the problem's rows.
void validate(const AttentionProblem& problem, const RowState& rows);
void validate(const AttentionProblem& problem, const AttentionUpstream& upstream);

// Statistics the map defines; an Error when one was asked for by name that it does not.
Statistics available_statistics(const AttentionProblem& problem);

// Problems that only softmax and Gumbel maps can do, such as merging.
void require_streaming_map(const AttentionProblem& problem, const char* pass);

}  // namespace isentropic
