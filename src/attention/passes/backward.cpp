// Allocates the gradients of a backward pass.
#include "attention/passes/backward.hpp"

namespace isentropic {

AttentionGradients allocate_gradients(const AttentionProblem& problem) {
  const Dims dims(problem);
  // The shares of shards are added up before rounding.
  const bool shares = problem.shard.total_queries >= 0 || problem.shard.total_keys >= 0;
  const auto type_of = [&](const View& input) { return shares ? statistics_type(problem) : input.type; };
  AttentionGradients out;
  out.query = Tensor(type_of(problem.query), problem.query.shape);
  out.key = Tensor(type_of(problem.key), problem.key.shape);
  if (problem.value.present()) out.value = Tensor(type_of(problem.value), problem.value.shape);
  out.lambda = Tensor(statistics_type(problem), {dims.batch, dims.heads, dims.n_q});
  return out;
}

}  // namespace isentropic
