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
  AttentionResult (*softmax_forward)(const AttentionProblem& problem, RowScales scales, OutputUse output);
  Partial (*softmax_partial)(const AttentionProblem& problem, RowScales scales);
  AttentionGradients (*softmax_backward)(const AttentionProblem& problem, const RowScales& scales,
                                         const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                         const std::vector<std::int64_t>& hard_keys, BiasGradient bias);
  Tensor (*softmax_key_mass)(const AttentionProblem& problem, const AttentionResult& forward);
  // Fills scales.lambda, status and iterations; scales.visible is known.
  void (*solve_target_entropy)(const AttentionProblem& problem, RowScales& scales);

  // Every map, a few rows at a time with all their scores in a buffer of length n_k.
  AttentionResult (*whole_rows_forward)(const AttentionProblem& problem, RowScales scales, OutputUse output);
  AttentionGradients (*whole_rows_backward)(const AttentionProblem& problem, const AttentionResult& forward,
                                            const std::vector<RowConstants>& constants,
                                            const AttentionUpstream& upstream, BiasGradient bias);
  Tensor (*whole_rows_key_mass)(const AttentionProblem& problem, const AttentionResult& forward);
  Tensor (*whole_rows_weights)(const AttentionProblem& problem, const RowScales& scales,
                               const std::vector<std::int64_t>& rows);

  // Linear features and decay in O(n).
  AttentionResult (*recurrent_forward)(const AttentionProblem& problem, RowScales scales, OutputUse output);
};

// What every forward pass starts from: the scales, and a zero output where one is wanted.
inline AttentionResult empty_result(const AttentionProblem& problem, RowScales scales, OutputUse output) {
  const Dims dims(problem);
  AttentionResult result;
  result.scales = std::move(scales);
  if (output == OutputUse::compute)
    result.output = Tensor(problem.query.type, {dims.batch, dims.heads, dims.n_q, dims.d_v});
  return result;
}

}  // namespace isentropic
