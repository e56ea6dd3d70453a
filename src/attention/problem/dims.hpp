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

// The caller's executor, or the default one. With the default, tiny problems stay on the calling thread: waking others
// costs more than the work itself, and far more on a busy machine.
inline bool worth_threads(const AttentionProblem& problem) {
  constexpr std::int64_t kWorthThreads = 1 << 20;  // multiplications
  const Dims dims(problem);
  return dims.rows() * dims.n_k * (dims.d + dims.d_v) >= kWorthThreads;
}

inline Executor& executor_of(const AttentionProblem& problem) {
  if (problem.executor) return *problem.executor;
  return worth_threads(problem) ? default_executor() : serial_executor();
}

// The type of statistics and weights.
inline DType statistics_type(const AttentionProblem& problem) {
  return problem.query.type == DType::float64 ? DType::float64 : DType::float32;
}

}  // namespace isentropic
