// Column sums of the weights, sum_i a_ij: a sweep that reuses the log-partition of every row.
#include "attention/cpu/kernels/weights_row.hpp"
#include "attention/cpu/streaming/streaming.hpp"
#include "attention/cpu/tiles/score_tile.hpp"
#include "attention/passes/statistics_writer.hpp"

namespace isentropic {
namespace {

// For e^{(s - m) - (L - m)}: the maximum is exact in any type, L alone is not.
struct KeyMassRow {
  double max_score;
  double log_partition;  // L - m, the sink included
};

// For one head: adds the weights of every `step`-th block of queries, starting at `first`, to the mass of all keys.
template <class T>
void sum_columns(const ScoreContext& context, const std::vector<KeyMassRow>& origins, const KeyBlocks<T>& keys,
                 std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t step, double* mass) {
  const Dims& dims = context.dims;
  ScoreTile<T> tile(context);
  std::vector<T> block_mass(padded(kKeyBlock));  // over one block of queries: few enough terms for T
  for (std::int64_t i0 = first * kQueryBlock; i0 < dims.n_q; i0 += step * kQueryBlock) {
    const std::int64_t i1 = std::min(i0 + kQueryBlock, dims.n_q);
    tile.load_queries(b, h, i0, i1);
    keys.for_each(b, dims.kv_head(h), context.visibility.reach(b, i0, i1), [&](const KeyBlock<T>& block) {
      tile.load_keys(block);
      if (tile.compute() == TileVisibility::none) return;
      std::ranges::fill(block_mass, T(0));
      for (std::int64_t r = 0; r < i1 - i0; ++r) {
        const KeyMassRow& origin = origins[dims.row(b, h, i0 + r)];
        if (origin.max_score == -std::numeric_limits<double>::infinity()) continue;
        add_weights(tile.row(r), tile.stride(), static_cast<T>(origin.max_score), static_cast<T>(origin.log_partition),
                    block_mass.data());
      }
      for (std::int64_t j = 0; j < tile.keys.rows(); ++j) mass[block.begin + j] += static_cast<double>(block_mass[j]);
    });
  }
}

}  // namespace

Tensor softmax_key_mass(const AttentionProblem& problem, const AttentionResult& forward) {
  const ScoreContext context(problem, forward.rows.lambda, Factors::sixteen_bits_too);
  const Dims& dims = context.dims;
  std::vector<KeyMassRow> origins(dims.rows());
  for (std::int64_t row = 0; row < dims.rows(); ++row) {
    const SoftmaxRecord<double> keys = forward.rows.record(row);
    origins[row] = {keys.m, log_partition(with_sink(problem, row / dims.n_q % dims.heads, keys)) - keys.m};
  }
  Tensor out(statistics_type(problem), {dims.batch, dims.heads, dims.n_k});
  // With few heads the queries are split into parts, independently of the number of threads, and added up in order.
  constexpr std::int64_t kTasks = 64;
  const std::int64_t heads = dims.batch * dims.heads, query_blocks = (dims.n_q + kQueryBlock - 1) / kQueryBlock;
  const std::int64_t parts =
      std::max<std::int64_t>(1, std::min(kTasks / std::max<std::int64_t>(1, heads), query_blocks));
  std::vector<double> mass(heads * parts * dims.n_k);
  with_compute_type(problem.query.type, [&]<class T>() {
    const KeyBlocks<T> keys(problem, context.planes, {});
    executor_of(problem).parallel_for(heads * parts, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t head = task / parts;
        sum_columns<T>(context, origins, keys, head / dims.heads, head % dims.heads, task % parts, parts,
                       mass.data() + task * dims.n_k);
      }
    });
  });
  for (std::int64_t head = 0; head < heads; ++head) {
    double* sum = mass.data() + head * parts * dims.n_k;
    for (std::int64_t part = 1; part < parts; ++part)
      for (std::int64_t j = 0; j < dims.n_k; ++j) sum[j] += sum[part * dims.n_k + j];
    store(out, head * dims.n_k, dims.n_k, sum);
  }
  return out;
}

}  // namespace isentropic
