// The sizes of a validated problem, and where a row lies in [batch, heads, n_q].
#pragma once

#include <cstdint>

#include "isentropic/attention.hpp"

namespace isentropic {

struct Dims {
  std::int64_t batch, heads, kv_heads, n_q, n_k, d, d_v;

  explicit Dims(const AttentionProblem& problem)
      : batch(problem.query.shape[0]),
        heads(problem.query.shape[1]),
        kv_heads(problem.key.shape[1]),
        n_q(problem.query.shape[2]),
        n_k(problem.key.shape[2]),
        d(problem.query.shape[3]),
        d_v(problem.value.present() ? problem.value.shape[3] : 0) {}

  std::int64_t rows() const { return batch * heads * n_q; }
  std::int64_t row(std::int64_t b, std::int64_t h, std::int64_t i) const { return (b * heads + h) * n_q + i; }
  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t kv_head(std::int64_t h) const { return h / group(); }
};

inline Executor& executor_of(const AttentionProblem& problem) {
  return problem.executor ? *problem.executor : default_executor();
}

// The type of statistics and weights.
inline DType statistics_type(const AttentionProblem& problem) {
  return problem.query.type == DType::float64 ? DType::float64 : DType::float32;
}

}  // namespace isentropic
