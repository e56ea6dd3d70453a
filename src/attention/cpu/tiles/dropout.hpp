// Dropout of one row's weights or of their gradients, with the same factors.
#pragma once

#include "attention/cpu/tiles/score_tile.hpp"

namespace isentropic {

// Multiplies x[j] of neighbouring keys j0, j0 + 1, ... by 1 / (1 - probability) if the key is kept, else by 0.
template <class T>
inline void apply_dropout(const ScoreContext& context, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0,
                          std::int64_t n, T* x) {
  const AttentionProblem& problem = context.problem;
  if (!problem.dropout) return;
  CounterRandom random(RandomStream::dropout, problem.dropout->seed, b, h, context.visibility.queries()[i]);
  const std::int64_t first = n > 0 ? context.visibility.keys()[j0] : 0;
  const T keep = static_cast<T>(1 / (1 - problem.dropout->probability));
  for (std::int64_t j = 0; j < n; ++j) {
    const bool kept = random.uniform(first + j) >= problem.dropout->probability;
    x[j] = kept ? x[j] * keep : T(0);
  }
}

}  // namespace isentropic
