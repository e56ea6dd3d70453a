// Checks of a caller's problem, before any work: an Error names the argument, its value and what was expected.
#pragma once

#include "isentropic/attention.hpp"

namespace isentropic {

enum class ValueUse : std::uint8_t { required, ignored };

void validate(const AttentionProblem& problem, ValueUse value = ValueUse::required);
// `result` must come from a forward pass of `problem`.
void validate(const AttentionProblem& problem, const AttentionResult& result);
// The scales of the problem's rows.
void validate(const AttentionProblem& problem, const RowState& rows);
void validate(const AttentionProblem& problem, const AttentionUpstream& upstream);

// The requested statistics that the map defines; Error if one requested by name is not among them.
Statistics available_statistics(const AttentionProblem& problem);

// For passes that only softmax and Gumbel maps support, such as merging.
void require_streaming_map(const AttentionProblem& problem, const char* pass);

}  // namespace isentropic
