#include "isentropic/attention.hpp"

#include "attention/cpu/passes.hpp"
#include "attention/row_scales.hpp"
#include "attention/validate.hpp"

namespace isentropic {
namespace {

bool is_recurrent(const ScoreMap& map) {
  return (map.kind() == ScoreMap::Kind::linear || map.kind() == ScoreMap::Kind::decay) &&
         map.form() == LinearForm::recurrent;
}

AttentionResult forward(const AttentionProblem& problem, OutputUse output) {
  RowScales scales = row_scales(problem);
  if (problem.map.streams()) return softmax_forward(problem, std::move(scales), output);
  if (is_recurrent(problem.map)) return recurrent_forward(problem, std::move(scales), output);
  return rows_forward(problem, std::move(scales), output);
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
  return rows_weights(problem, row_scales(problem), rows);
}

Tensor attention_key_mass(const AttentionProblem& problem, const AttentionResult& forward_result) {
  validate(problem, ValueUse::ignored);
  validate(problem, forward_result);
  return problem.map.streams() ? softmax_key_mass(problem, forward_result) : rows_key_mass(problem, forward_result);
}

Partial attention_partial(const AttentionProblem& problem) {
  validate(problem);
  require_streaming_map(problem, "partial attention");
  return softmax_partial(problem, row_scales(problem));
}

}  // namespace isentropic
