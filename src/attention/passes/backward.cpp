// Where the gradients of a backward pass are put.
#include "attention/passes/backward.hpp"

namespace isentropic {

AttentionGradients allocate_gradients(const AttentionProblem& problem) {
  const Dims dims(problem);
  AttentionGradients out;
  out.query = Tensor(problem.query.type, problem.query.shape);
  out.key = Tensor(problem.key.type, problem.key.shape);
  if (problem.value.present()) out.value = Tensor(problem.value.type, problem.value.shape);
  out.lambda = Tensor(statistics_type(problem), {dims.batch, dims.heads, dims.n_q});
  return out;
}

}  // namespace isentropic
