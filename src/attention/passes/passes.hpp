// The passes a device offers over a validated problem whose row scales are known. Those above look a device's table up
// (attention/devices.hpp) and know none of them.
#pragma once

#include "attention/problem/dims.hpp"

namespace isentropic {

enum class OutputUse : std::uint8_t { compute, skip };

// The steps in which passes walk. Who cuts a problem into shards cuts at multiples of them.
inline constexpr std::int64_t kQueryBlock = 96;
inline constexpr std::int64_t kKeyBlock = 512;  // also how many terms are summed in float32 before they join a record

struct Passes {
  // Maps that stream block by block: softmax and Gumbel.
  AttentionResult (*softmax_forward)(const AttentionProblem& problem, RowState rows, OutputUse output);
  Partial (*softmax_partial)(const AttentionProblem& problem, RowState rows);
  AttentionGradients (*softmax_backward)(const AttentionProblem& problem, const RowState& state,
                                         const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                         const std::vector<std::int64_t>& hard_keys, BiasGradient bias);
  Tensor (*softmax_key_mass)(const AttentionProblem& problem, const AttentionResult& forward);
  // Fills lambda (which has its shape already), status and iterations; `visible` is known.
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

// What every forward pass starts from: the rows with their scales, and a zero output where one is wanted.
inline AttentionResult empty_result(const AttentionProblem& problem, RowState rows, OutputUse output) {
  const Dims dims(problem);
  AttentionResult result;
  result.rows = std::move(rows);
  if (output == OutputUse::compute)
    result.output = Tensor(problem.query.type, {dims.batch, dims.heads, dims.n_q, dims.d_v});
  return result;
}

}  // namespace isentropic
