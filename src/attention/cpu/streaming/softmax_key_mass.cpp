// Column sums of the weights, sum_i a_ij: a sweep by blocks of keys that reuses the log-partition of every row.
#include "attention/cpu/kernels/weights_row.hpp"
#include "attention/cpu/streaming/streaming.hpp"
#include "attention/cpu/tiles/score_tile.hpp"
#include "attention/passes/statistics_writer.hpp"

namespace isentropic {
namespace {

// e^{(s - m) - (L - m)}: the maximum is exact in any type, L alone is not.
struct KeyMassRow {
  double max_score;
  double log_partition;  // L - m, the sink included
};

template <class T>
void sum_columns(const ScoreContext& context, const std::vector<KeyMassRow>& origins, const KeyBlock<T>& block,
                 std::int64_t b, std::int64_t h, Tensor& out) {
  const Dims& dims = context.dims;
  ScoreTile<T> tile(context);
  std::vector<double> mass(block.rows(), 0.0);
  std::vector<T> block_mass(padded(block.rows()));  // of one block of queries: few enough for T
  for (std::int64_t i0 = 0; i0 < dims.n_q; i0 += kQueryBlock) {
    const std::int64_t i1 = std::min(i0 + kQueryBlock, dims.n_q);
    if (context.visibility.tile(b, h, i0, i1, block.begin, block.end) == TileVisibility::none) continue;
    tile.load_queries(b, h, i0, i1);
    tile.load_keys(block);
    if (tile.compute() == TileVisibility::none) continue;
    std::ranges::fill(block_mass, T(0));
    for (std::int64_t r = 0; r < i1 - i0; ++r) {
      const KeyMassRow& origin = origins[dims.row(b, h, i0 + r)];
      if (origin.max_score == -std::numeric_limits<double>::infinity()) continue;
      const T m = static_cast<T>(origin.max_score), total = static_cast<T>(origin.log_partition);
      add_weights(tile.row(r), tile.stride(), m, total, block_mass.data());
    }
    for (std::int64_t j = 0; j < tile.keys.rows(); ++j) mass[j] += static_cast<double>(block_mass[j]);
  }
  store(out, (b * dims.heads + h) * dims.n_k + block.begin, block.rows(), mass.data());
}

}  // namespace

Tensor softmax_key_mass(const AttentionProblem& problem, const AttentionResult& forward) {
  const ScoreContext context(problem, forward.scales.lambda, Factors::sixteen_bits_too);
  const Dims& dims = context.dims;
  std::vector<KeyMassRow> origins(dims.rows());
  for (std::int64_t row = 0; row < dims.rows(); ++row) {
    const SoftmaxRecord<double>& keys = forward.records[row];
    origins[row] = {keys.m, log_partition(with_sink(problem, row / dims.n_q % dims.heads, keys)) - keys.m};
  }
  Tensor out(statistics_type(problem), {dims.batch, dims.heads, dims.n_k});
  with_compute_type(problem.query.type, [&]<class T>() {
    const KeyBlocks<T> key_blocks(problem, context.planes, {.by_index = true});
    const std::int64_t blocks = key_blocks.count();
    executor_of(problem).parallel_for(dims.batch * dims.heads * blocks, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t h = task / blocks % dims.heads, b = task / blocks / dims.heads;
        sum_columns<T>(context, origins, key_blocks.block(b, dims.kv_head(h), task % blocks), b, h, out);
      }
    });
  });
  return out;
}

}  // namespace isentropic
