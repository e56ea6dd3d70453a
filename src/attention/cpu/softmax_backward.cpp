// The backward of streaming maps in one sweep: every tile of scores is formed once and feeds dQ, dK and dV.
//
// A task owns a share of the keys of one kv head, so dK and dV are its own; what it adds to dQ goes to a buffer of its
// own, and the buffers are added in order at the end. How many shares there are depends on the problem alone: no
// atomics, and the same bits whatever the number of threads. Bias gradients take a sweep more, when asked for.
#include <algorithm>
#include <cmath>

#include "attention/cpu/bias_gradient.hpp"
#include "attention/cpu/gradient_tile.hpp"
#include "attention/cpu/passes.hpp"

namespace isentropic {
namespace {

inline constexpr std::int64_t kLeastTasks = 16;

inline constexpr std::int64_t kBufferElements = 1
                                                << 24;  // of all shares' dQ together, or four times dQ if that is more

// Every share-th block of the keys: causal rows make the first blocks the longest, so shares are dealt like cards.
struct KeyShares {
  std::int64_t blocks, count;

  KeyShares(const Dims& dims, std::int64_t blocks_) : blocks(blocks_) {
    const std::int64_t heads = std::max<std::int64_t>(1, dims.batch * dims.kv_heads);
    const std::int64_t affordable =
        std::max<std::int64_t>(4, kBufferElements / std::max<std::int64_t>(1, dims.rows() * dims.d));
    const std::int64_t wanted = std::min((kLeastTasks + heads - 1) / heads, affordable);
    count = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, blocks));
  }
};

template <class T>
class Sweep {
 public:
  Sweep(const GradientContext& context, const KeyBlocks<T>& keys, const KeyShares& shares)
      : context_(context), dims_(context.scores.dims), keys_(keys), shares_(shares), tile_(context) {}

  // gathered: [group, n_q, stride] of G_i = sum_j dx_ij k_j over the share's keys; dQ = lambda G and dlambda = q.G.
  void run(std::int64_t b, std::int64_t kv_head, std::int64_t share, Buffer<T>& gathered,
           AttentionGradients& out) {
    gathered.assign(dims_.group() * dims_.n_q * key_stride(), T(0));
    for (std::int64_t index = share; index < shares_.blocks; index += shares_.count) {
      const KeyBlock<T>& block = keys_.block(b, kv_head, index);
      key_gradient_.assign(block.rows() * key_stride(), T(0));
      value_gradient_.assign(block.rows() * value_stride(), T(0));
      for (std::int64_t member = 0; member < dims_.group(); ++member)
        add_head(b, kv_head * dims_.group() + member, block, gathered.data() + member * dims_.n_q * key_stride());
      store_block(b, kv_head, block, out);
    }
  }

 private:
  std::int64_t key_stride() const { return padded(dims_.d); }
  std::int64_t value_stride() const { return padded(dims_.d_v); }

  void add_head(std::int64_t b, std::int64_t h, const KeyBlock<T>& block, T* gathered) {
    load_head(b, h);
    for (std::size_t x = 0; x < rows_.size(); ++x) {
      const GradientRows<T>& rows = rows_[x];
      tile_.use_queries(b, h, rows.queries, rows.upstream);
      tile_.load_keys(block);
      if (!tile_.compute()) continue;
      const std::int64_t stride = tile_.tile.stride(), keys = tile_.tile.keys.rows(), count = rows.queries.rows();
      accumulate(Product<T>{{tile_.scaled_gradient(0), stride, 1},
                            block.keys.data,
                            block.keys.stride,
                            count,
                            keys,
                            key_stride(),
                            gathered + rows.queries.begin * key_stride(),
                            key_stride()},
                 block.keys.finite);
      accumulate(Product<T>{{tile_.scaled_gradient(0), 1, stride},
                            scaled_[x].data.data(),
                            key_stride(),
                            keys,
                            count,
                            key_stride(),
                            key_gradient_.data(),
                            key_stride()},
                 scaled_[x].finite);
      if (!context_.upstream.output.present()) continue;
      accumulate(Product<T>{{tile_.weights(0), 1, stride},
                            rows.upstream.data.data(),
                            value_stride(),
                            keys,
                            count,
                            value_stride(),
                            value_gradient_.data(),
                            value_stride()},
                 rows.upstream.finite);
    }
  }

  // All rows of a head, kept until another head comes: queries, upstream gradients, and queries times lambda for dK.
  void load_head(std::int64_t b, std::int64_t h) {
    if (loaded_b_ == b && loaded_h_ == h) return;
    loaded_b_ = b, loaded_h_ = h;
    rows_.clear();
    scaled_.clear();
    for (std::int64_t i0 = 0; i0 < dims_.n_q; i0 += kQueryBlock) {
      const std::int64_t i1 = std::min(i0 + kQueryBlock, dims_.n_q);
      rows_.emplace_back(context_, b, h, i0, i1);
      scaled_.push_back(rows_.back().queries);
      for (std::int64_t r = 0; r < i1 - i0; ++r) {
        const T lambda = static_cast<T>(context_.scores.lambda[dims_.row(b, h, i0 + r)]);
        scaled_.back().finite = scaled_.back().finite && std::isfinite(lambda);
        T* row = scaled_.back().data.data() + r * key_stride();
        for (std::int64_t c = 0; c < dims_.d; ++c) row[c] *= lambda;
      }
    }
  }

  void store_block(std::int64_t b, std::int64_t kv_head, const KeyBlock<T>& block, AttentionGradients& out) const {
    for (std::int64_t j = 0; j < block.rows(); ++j) {
      const std::int64_t row = (b * dims_.kv_heads + kv_head) * dims_.n_k + block.begin + j;
      store(out.key, row * dims_.d, dims_.d, key_gradient_.data() + j * key_stride());
      if (context_.upstream.output.present())
        store(out.value, row * dims_.d_v, dims_.d_v, value_gradient_.data() + j * value_stride());
    }
  }

  const GradientContext& context_;
  const Dims& dims_;
  const KeyBlocks<T>& keys_;
  const KeyShares& shares_;
  GradientTile<T> tile_;
  std::int64_t loaded_b_ = -1, loaded_h_ = -1;
  std::vector<GradientRows<T>> rows_;
  std::vector<RowBlock<T>> scaled_;
  Buffer<T> key_gradient_, value_gradient_;
};

// dQ and dlambda of one head from the shares' sums, added in order.
template <class T>
void finish_queries(const ScoreContext& scores, std::int64_t b, std::int64_t h,
                    const std::vector<Buffer<T>>& shares, std::int64_t first_share, std::int64_t count,
                    AttentionGradients& out) {
  const Dims& dims = scores.dims;
  const std::int64_t stride = padded(dims.d), head = h % dims.group() * dims.n_q;
  RowBlock<T> queries;
  queries.load(scores.problem.query, b, h, 0, dims.n_q);
  std::vector<T> g(dims.d);
  for (std::int64_t i = 0; i < dims.n_q; ++i) {
    std::fill(g.begin(), g.end(), T(0));
    for (std::int64_t share = first_share; share < first_share + count; ++share)
      for (std::int64_t c = 0; c < dims.d; ++c) g[c] += shares[share][(head + i) * stride + c];
    const std::int64_t row = dims.row(b, h, i);
    double lambda_gradient = 0;
    for (std::int64_t c = 0; c < dims.d; ++c)
      lambda_gradient += static_cast<double>(g[c]) * static_cast<double>(queries.row(i)[c]);
    store(out.lambda, row, 1, &lambda_gradient);
    const T lambda = static_cast<T>(scores.lambda[row]);
    for (T& x : g) x *= lambda;
    store(out.query, row * dims.d, dims.d, g.data());
  }
}

}  // namespace

AttentionGradients softmax_backward(const AttentionProblem& problem, const RowScales& scales,
                                    const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                    const std::vector<std::int64_t>& hard_keys, BiasGradient bias) {
  const ScoreContext scores(problem, scales.lambda, Factors::compute_type);
  const GradientContext context{scores, upstream, constants, hard_keys};
  const Dims& dims = scores.dims;
  AttentionGradients out = allocate_gradients(problem);
  Executor& executor = executor_of(problem);
  with_compute_type(problem.query.type, [&]<class T>() {
    const KeyBlocks<T> key_blocks(problem, scores.planes,
                                  {.keys = true, .transposed_values = upstream.output.present(), .by_index = true});
    const KeyShares shares(dims, key_blocks.count());
    std::vector<Buffer<T>> gathered(dims.batch * dims.kv_heads * shares.count);
    executor.parallel_for(std::ssize(gathered), [&](std::int64_t begin, std::int64_t end) {
      Sweep<T> sweep(context, key_blocks, shares);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t head = task / shares.count;
        sweep.run(head / dims.kv_heads, head % dims.kv_heads, task % shares.count, gathered[task], out);
      }
    });
    executor.parallel_for(dims.batch * dims.heads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t b = task / dims.heads, h = task % dims.heads;
        const std::int64_t first = (b * dims.kv_heads + dims.kv_head(h)) * shares.count;
        finish_queries(scores, b, h, gathered, first, shares.count, out);
      }
    });
    if (bias == BiasGradient::compute && problem.bias.kind() != Bias::Kind::none) {
      BiasAccumulator bias_sums(scores);
      sweep_bias<T>(context, key_blocks, bias_sums);
      out.bias = bias_sums.take();
    }
  });
  return out;
}

}  // namespace isentropic
