// Solves rows for a target entropy: statistics-only passes over the keys, one Newton step per row in each.
#include <cmath>

#include "attention/cpu/streaming/query_blocks.hpp"
#include "attention/cpu/streaming/streaming.hpp"

namespace isentropic {
namespace {

// The resolution of a pass: a few units in the last place of H, whose error grows like 1 + log k.
template <class T>
double tolerance(std::int64_t visible) {
  const double steps = std::is_same_v<T, float> ? 8 : 4096;
  return steps * std::numeric_limits<T>::epsilon() * (1 + std::log(std::max<double>(1, static_cast<double>(visible))));
}

template <class T>
void solve_rows(const ScoreContext& context, const KeyBlocks<T>& key_blocks, RowState& state, std::int64_t b,
                std::int64_t h, std::int64_t i0, std::int64_t i1) {
  const Dims& dims = context.dims;
  const std::int64_t base = dims.row(b, h, 0);
  const std::span<T> lambda = state.lambda.values<T>();
  const std::span<std::int64_t> status = state.status.values<std::int64_t>(),
                                iterations = state.iterations.values<std::int64_t>();
  std::vector<EntropySolver> solvers;
  for (std::int64_t i = i0; i < i1; ++i) {
    const std::int64_t visible = state.visible.values<std::int64_t>()[base + i];
    solvers.emplace_back(context.problem.scale.target(h), visible, 1 / std::sqrt(static_cast<double>(dims.d)),
                         tolerance<T>(visible));
    lambda[base + i] = static_cast<T>(solvers.back().lambda());
  }
  const auto active = [](const EntropySolver& solver) { return solver.active(); };
  for (;;) {
    const auto first = std::find_if(solvers.begin(), solvers.end(), active) - solvers.begin();
    if (first == i1 - i0) break;
    const auto last = solvers.rend() - std::find_if(solvers.rbegin(), solvers.rend(), active);
    const Span keys = context.visibility.reach(b, i0 + first, i0 + last);
    const QueryBlockResult<T> rows =
        fold_keys<T>(context, key_blocks, {MomentSet::all, false, false}, b, {h, h + 1}, i0 + first, i0 + last, keys);
    for (std::int64_t r = first; r < last; ++r) {
      if (!solvers[r].active()) continue;
      const SoftmaxRecord<double>& record = rows.records[r - first];
      solvers[r].update(entropy(record), score_variance(record), -record.sums.u / record.sums.z);
      lambda[base + i0 + r] = static_cast<T>(solvers[r].lambda());
    }
  }
  for (std::int64_t r = 0; r < i1 - i0; ++r) {
    status[base + i0 + r] = static_cast<std::int64_t>(solvers[r].status());
    iterations[base + i0 + r] = solvers[r].iterations();
  }
}

}  // namespace

void solve_target_entropy(const AttentionProblem& problem, RowState& state) {
  const ScoreContext context(problem, state.lambda, Factors::sixteen_bits_too);
  const Dims& dims = context.dims;
  state.status = Tensor(DType::int64, state.lambda.shape());
  state.iterations = Tensor(DType::int64, state.lambda.shape());
  const std::int64_t blocks = (dims.n_q + kQueryBlock - 1) / kQueryBlock;
  with_compute_type(problem.query.type, [&]<class T>() {
    const KeyBlocks<T> key_blocks(problem, context.planes, {});
    executor_of(problem).parallel_for(dims.batch * dims.heads * blocks, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t i0 = task % blocks * kQueryBlock, i1 = std::min(i0 + kQueryBlock, dims.n_q);
        solve_rows<T>(context, key_blocks, state, task / blocks / dims.heads, task / blocks % dims.heads, i0, i1);
      }
    });
  });
}

}  // namespace isentropic
