// The public forward calls: check the problem, compute the row scales, run the device's pass.
#include "isentropic/attention.hpp"

#include "attention/devices.hpp"
#include "attention/problem/validate.hpp"
#include "attention/row_scales.hpp"

namespace isentropic {
namespace {

bool is_recurrent(const ScoreMap& map) {
  return (map.kind() == ScoreMap::Kind::linear || map.kind() == ScoreMap::Kind::decay) &&
         map.form() == LinearForm::recurrent;
}

AttentionResult forward(const AttentionProblem& problem, OutputUse output) {
  const Passes& passes = passes_for(problem);
  RowState rows = row_scales(problem);
  if (problem.map.streams()) return passes.softmax_forward(problem, std::move(rows), output);
  if (is_recurrent(problem.map)) return passes.recurrent_forward(problem, std::move(rows), output);
  return passes.whole_rows_forward(problem, std::move(rows), output);
}

}  // namespace

AttentionResult attention(const AttentionProblem& problem) {
  validate(problem);
  return forward(problem, OutputUse::compute);
}

AttentionResult attention_statistics(const AttentionProblem& problem) {
  validate(problem, ValueUse::ignored);
  if (problem.statistics.empty()) throw Error("statistics", "none", "at least one, in a pass that computes only them");
  return forward(problem, OutputUse::skip);
}

Tensor attention_weights(const AttentionProblem& problem, const std::vector<std::int64_t>& rows) {
  validate(problem, ValueUse::ignored);
  for (std::int64_t row : rows)
    if (row < 0 || row >= Dims(problem).n_q)
      throw Error("row", std::to_string(row), "from 0 to n_q - 1 = " + std::to_string(Dims(problem).n_q - 1));
  return passes_for(problem).whole_rows_weights(problem, row_scales(problem), rows);
}

Tensor attention_key_mass(const AttentionProblem& problem, const AttentionResult& forward_result) {
  validate(problem, ValueUse::ignored);
  validate(problem, forward_result);
  const Passes& passes = passes_for(problem);
  return problem.map.streams() ? passes.softmax_key_mass(problem, forward_result)
                               : passes.whole_rows_key_mass(problem, forward_result);
}

Partial attention_partial(const AttentionProblem& problem) {
  validate(problem);
  require_streaming_map(problem, "partial attention");
  return passes_for(problem).softmax_partial(problem, row_scales(problem));
}

}  // namespace isentropic
