// The passes a device offers over a validated problem whose row scales are known. Callers look up a device's table
// (attention/devices.hpp) and never name a device's passes directly.
#pragma once

#include "attention/problem/dims.hpp"

namespace isentropic {

enum class OutputUse : std::uint8_t { compute, skip };

// The block sizes of the passes. Code that splits a problem into shards should split at multiples of them.
inline constexpr std::int64_t kQueryBlock = 96;
inline constexpr std::int64_t kKeyBlock = 512;  // also how many terms are summed in float32 before joining a record

struct Passes {
  // Maps that stream block by block: softmax and Gumbel.
  AttentionResult (*softmax_forward)(const AttentionProblem& problem, RowState rows, OutputUse output);
  Partial (*softmax_partial)(const AttentionProblem& problem, RowState rows);
  AttentionGradients (*softmax_backward)(const AttentionProblem& problem, const RowState& state,
                                         const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                         const std::vector<std::int64_t>& hard_keys, BiasGradient bias);
  Tensor (*softmax_key_mass)(const AttentionProblem& problem, const AttentionResult& forward);
  // Fills lambda (already allocated), status and iterations; `visible` is known.
  void (*solve_target_entropy)(const AttentionProblem& problem, RowState& state);

  // Every map, a few rows at a time with all their scores in a buffer of length n_k.
  AttentionResult (*whole_rows_forward)(const AttentionProblem& problem, RowState rows, OutputUse output);
  AttentionGradients (*whole_rows_backward)(const AttentionProblem& problem, const AttentionResult& forward,
                                            const std::vector<RowConstants>& constants,
                                            const AttentionUpstream& upstream, BiasGradient bias);
  Tensor (*whole_rows_key_mass)(const AttentionProblem& problem, const AttentionResult& forward);
  Tensor (*whole_rows_weights)(const AttentionProblem& problem, const RowState& state,
                               const std::vector<std::int64_t>& rows);

  // Linear features and decay in O(n).
  AttentionResult (*recurrent_forward)(const AttentionProblem& problem, RowState rows, OutputUse output);
};

// The starting point of every forward pass: the rows with their scales, and a zero output if one is wanted.
inline AttentionResult empty_result(const AttentionProblem& problem, RowState rows, OutputUse output) {
  const Dims dims(problem);
  AttentionResult result;
  result.rows = std::move(rows);
  if (output == OutputUse::compute)
    result.output = Tensor(problem.query.type, {dims.batch, dims.heads, dims.n_q, dims.d_v});
  return result;
}

}  // namespace isentropic
