// The backward of streaming maps: one sweep by blocks of queries (dQ, dlambda, ALiBi slopes), one by blocks of keys
// (dK, dV), one for bias tables when asked. Each sweep owns what it writes: no atomics, and the same bits whatever
// the number of threads.
#include <algorithm>

#include "attention/cpu/bias_gradient.hpp"
#include "attention/cpu/gradient_tile.hpp"
#include "attention/cpu/passes.hpp"

namespace isentropic {
namespace {

std::int64_t block_count(std::int64_t n, std::int64_t block) { return (n + block - 1) / block; }

template <class T>
void sweep_queries(const GradientContext& context, const KeyBlocks<T>& key_blocks, std::int64_t b, std::int64_t h,
                   std::int64_t i0, std::int64_t i1, AttentionGradients& out, BiasAccumulator* slopes) {
  const ScoreContext& scores = context.scores;
  const Dims& dims = scores.dims;
  GradientTile<T> tile(context);
  if (slopes) tile.keep_bias_gradient();
  tile.load_queries(b, h, i0, i1);
  const std::int64_t rows = i1 - i0, stride = padded(dims.d);
  std::vector<T> gathered(rows * stride, T(0));  // G_i = sum_j dx_ij k_j, so dQ = lambda G and dlambda = q.G
  key_blocks.for_each(b, dims.kv_head(h), scores.visibility.reach(b, i0, i1), [&](const KeyBlock<T>& block) {
    tile.load_keys(block);
    if (!tile.compute()) return;
    accumulate(Product<T>{{tile.scaled_gradient(0), block.stride(), 1},
                          block.keys.data,
                          block.keys.stride,
                          rows,
                          block.rows(),
                          stride,
                          gathered.data(),
                          stride},
               block.keys.finite);
    for (std::int64_t r = 0; slopes && r < rows; ++r)
      slopes->add(b, h, i0 + r, block.begin, block.rows(), tile.bias_gradient(r));
  });
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = dims.row(b, h, i0 + r);
    T* g = gathered.data() + r * stride;
    double lambda_gradient = 0;
    for (std::int64_t c = 0; c < dims.d; ++c)
      lambda_gradient += static_cast<double>(g[c]) * static_cast<double>(tile.tile.queries.row(r)[c]);
    store(out.lambda, row, 1, &lambda_gradient);
    const T lambda = static_cast<T>(scores.lambda[row]);
    for (std::int64_t c = 0; c < dims.d; ++c) g[c] *= lambda;
    store(out.query, row * dims.d, dims.d, g);
  }
}

template <class T>
void sweep_keys(const GradientContext& context, const KeyBlock<T>& block, std::int64_t b, std::int64_t kv_head,
                AttentionGradients& out) {
  const ScoreContext& scores = context.scores;
  const Dims& dims = scores.dims;
  const bool values = context.upstream.output.present();
  GradientTile<T> tile(context);
  tile.load_keys(block);
  const std::int64_t keys = block.rows(), stride = padded(dims.d), value_stride = padded(dims.d_v);
  std::vector<T> key_gradient(keys * stride, T(0)), value_gradient(keys * value_stride, T(0));
  for (std::int64_t h = kv_head * dims.group(); h < (kv_head + 1) * dims.group(); ++h) {
    for (std::int64_t i0 = 0; i0 < dims.n_q; i0 += kQueryBlock) {
      const std::int64_t i1 = std::min(i0 + kQueryBlock, dims.n_q);
      if (scores.visibility.tile(b, h, i0, i1, block.begin, block.end) == TileVisibility::none) continue;
      tile.load_queries(b, h, i0, i1);
      if (!tile.compute()) continue;
      const std::int64_t tile_stride = tile.tile.stride();
      for (std::int64_t r = 0; r < i1 - i0; ++r) {
        const T lambda = static_cast<T>(scores.lambda[dims.row(b, h, i0 + r)]);
        T* dx = tile.scaled_gradient(r);
        for (std::int64_t j = 0; j < keys; ++j) dx[j] *= lambda;
      }
      accumulate(Product<T>{{tile.scaled_gradient(0), 1, tile_stride},
                            tile.tile.queries.data.data(),
                            stride,
                            keys,
                            i1 - i0,
                            stride,
                            key_gradient.data(),
                            stride},
                 tile.tile.queries.finite);
      if (!values) continue;
      accumulate(Product<T>{{tile.weights(0), 1, tile_stride},
                            tile.upstream.data.data(),
                            value_stride,
                            keys,
                            i1 - i0,
                            value_stride,
                            value_gradient.data(),
                            value_stride},
                 tile.upstream.finite);
    }
  }
  for (std::int64_t j = 0; j < keys; ++j) {
    const std::int64_t row = (b * dims.kv_heads + kv_head) * dims.n_k + block.begin + j;
    store(out.key, row * dims.d, dims.d, key_gradient.data() + j * stride);
    if (values) store(out.value, row * dims.d_v, dims.d_v, value_gradient.data() + j * value_stride);
  }
}

}  // namespace

AttentionGradients softmax_backward(const AttentionProblem& problem, const RowScales& scales,
                                    const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                    const std::vector<std::int64_t>& hard_keys, BiasGradient bias) {
  const ScoreContext scores(problem, scales.lambda);
  const GradientContext context{scores, upstream, constants, hard_keys};
  const Dims& dims = scores.dims;
  AttentionGradients out = allocate_gradients(problem);
  BiasAccumulator bias_sums(scores);
  const bool wants_bias = bias == BiasGradient::compute && problem.bias.kind() != Bias::Kind::none;
  BiasAccumulator* slopes = wants_bias && !bias_sums.rows_share() ? &bias_sums : nullptr;
  Executor& executor = executor_of(problem);
  with_compute_type(problem.query.type, [&]<class T>() {
    const KeyBlocks<T> key_blocks(problem, {.keys = true, .transposed_values = upstream.output.present()});
    const std::int64_t query_blocks = block_count(dims.n_q, kQueryBlock), blocks = key_blocks.count();
    executor.parallel_for(dims.batch * dims.heads * query_blocks, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t i0 = (query_blocks - 1 - task % query_blocks) * kQueryBlock;
        const std::int64_t h = task / query_blocks % dims.heads, b = task / query_blocks / dims.heads;
        sweep_queries<T>(context, key_blocks, b, h, i0, std::min(i0 + kQueryBlock, dims.n_q), out, slopes);
      }
    });
    executor.parallel_for(dims.batch * dims.kv_heads * blocks, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t kv_head = task / blocks % dims.kv_heads, b = task / blocks / dims.kv_heads;
        sweep_keys<T>(context, key_blocks.block(b, kv_head, task % blocks), b, kv_head, out);
      }
    });
    if (wants_bias && bias_sums.rows_share()) sweep_shared_bias<T>(context, key_blocks, bias_sums);
  });
  if (wants_bias) out.bias = bias_sums.take();
  return out;
}

}  // namespace isentropic
