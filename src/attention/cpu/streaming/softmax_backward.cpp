// The backward pass of streaming maps in one sweep: every tile of scores is computed once and feeds dQ, dK and dV.
//
// A task owns a share of the keys of one kv head, so dK and dV are exclusive to it; its contribution to dQ goes to its
// own buffer, and the buffers are added in order at the end. The number of shares depends only on the problem: no
// atomics, and bit-identical results for any number of threads. Bias gradients, if requested, take another sweep.
#include <algorithm>
#include <cmath>

#include "attention/cpu/streaming/streaming.hpp"
#include "attention/cpu/tiles/bias_gradient.hpp"
#include "attention/cpu/tiles/gradient_tile.hpp"

namespace isentropic {
namespace {

inline constexpr std::int64_t kLeastTasks = 16;
// Total size of all shares' dQ buffers, or four times dQ if that is more.
inline constexpr std::int64_t kBufferElements = 1 << 24;

// Key blocks are dealt to shares round-robin, because causal rows make the first blocks the longest.
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

// Rows of one head in the forms in which they are multiplied: for scores, and for dK and dV. Non-finite rows stay in
// the compute type for the latter, because weights of 0 must skip them.
template <class T>
class HeadOperands {
 public:
  GradientRows<T> rows;
  std::vector<T> lambda;
  NarrowLeft queries_t, upstream_t;  // transposed, for dK^T and dV^T; absent if `scaled` or upstream() is used instead
  LoadedRows<T> scaled;              // queries times lambda, for dK; absent if lambda can be applied to dS instead

  HeadOperands(const GradientContext& context, std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1)
      : rows(context, b, h, i0, i1) {
    const ScoreContext& scores = context.scores;
    for (std::int64_t i = i0; i < i1; ++i) lambda.push_back(scores.scale<T>(scores.dims.row(b, h, i)));
    if (rows.queries.finite && all_finite(lambda.data(), std::ssize(lambda))) {
      if (rows.queries.narrow.planes > 0) transpose(rows.queries.narrow, rows.queries.width, queries_t);
    } else {
      scaled.load(scores.problem.query, b, h, i0, i1);
      for (std::int64_t r = 0; r < i1 - i0; ++r) {
        scaled.finite = scaled.finite && std::isfinite(lambda[r]);
        T* row = scaled.data.data() + r * scaled.stride();
        for (std::int64_t c = 0; c < scaled.width; ++c) row[c] *= lambda[r];
      }
    }
    if (rows.upstream.narrow.planes == 0) return;
    if (rows.upstream.finite)
      transpose(rows.upstream.narrow, rows.upstream.width, upstream_t);
    else
      wide_upstream_.load(context.upstream.output, b, h, i0, i1);
  }

  const LoadedRows<T>& upstream() const { return wide_upstream_.data.empty() ? rows.upstream : wide_upstream_; }

 private:
  LoadedRows<T> wide_upstream_;
};

// Sums over rows for a block of keys: [keys, stride], or transposed, [width, keys], if factors have 16 bits.
template <class T>
struct BlockSums {
  std::int64_t width, stride, keys_stride;
  Buffer<T> sums, transposed;

  void clear(std::int64_t width_, std::int64_t keys) {
    width = width_, stride = padded(width), keys_stride = padded(keys);
    sums.assign(keys * stride, T(0));
    transposed.clear();
  }
  T* transposed_sums() {
    if (transposed.empty()) transposed.assign(width * keys_stride, T(0));
    return transposed.data();
  }
  // The sums of key j, in `sums`.
  const T* finished(std::int64_t j) {
    T* row = sums.data() + j * stride;
    for (std::int64_t c = 0; !transposed.empty() && c < width; ++c) row[c] += transposed[c * keys_stride + j];
    return row;
  }
};

template <class T>
class Sweep {
 public:
  Sweep(const GradientContext& context, const KeyBlocks<T>& keys, const KeyShares& shares)
      : context_(context), dims_(context.scores.dims), keys_(keys), shares_(shares), tile_(context) {}

  // gathered: [group, n_q, stride] of G_i = sum_j dx_ij k_j over the share's keys; dQ = lambda G and dlambda = q.G.
  void run(std::int64_t b, std::int64_t kv_head, std::int64_t share, Buffer<T>& gathered, AttentionGradients& out) {
    gathered.assign(dims_.group() * dims_.n_q * key_stride(), T(0));
    for (std::int64_t index = share; index < shares_.blocks; index += shares_.count) {
      const KeyBlock<T>& block = keys_.block(b, kv_head, index);
      key_sums_.clear(dims_.d, block.rows());
      value_sums_.clear(dims_.d_v, block.rows());
      for (std::int64_t member = 0; member < dims_.group(); ++member)
        add_head(b, kv_head * dims_.group() + member, block, gathered.data() + member * dims_.n_q * key_stride());
      store_block(b, kv_head, block, out);
    }
  }

 private:
  std::int64_t key_stride() const { return padded(dims_.d); }

  void add_head(std::int64_t b, std::int64_t h, const KeyBlock<T>& block, T* gathered) {
    load_head(b, h);
    for (const HeadOperands<T>& head : rows_) {
      tile_.use_rows(b, h, head.rows);
      tile_.load_keys(block);
      if (!tile_.compute()) continue;
      gather(block, gathered + head.rows.queries.begin * key_stride());
      spread_queries(head);
      if (context_.upstream.output.present())
        spread(tile_.weights(0), head.upstream_t, nullptr, head.upstream(), value_sums_);
    }
  }

  // out[i] += sum_j dS_ij k_j
  void gather(const KeyBlock<T>& block, T* out) {
    const std::int64_t stride = tile_.tile.stride(), keys = tile_.tile.keys.rows(), count = tile_.tile.rows();
    if constexpr (std::is_same_v<T, float>) {
      if (block.keys.narrow) {
        narrow_left_.resize(context_.scores.planes, count, keys);
        for (std::int64_t r = 0; r < count; ++r) narrow_left_.round_row(r, tile_.scaled_gradient(r), stride);
        return multiply(narrow_left_, 0, *block.keys.narrow, count, keys, key_stride(), out, key_stride(),
                        Store::accumulate);
      }
    }
    accumulate(Product<T>{{tile_.scaled_gradient(0), stride, 1},
                          block.keys.data,
                          block.keys.stride,
                          count,
                          keys,
                          key_stride(),
                          out,
                          key_stride()},
               block.keys.finite);
  }

  void spread_queries(const HeadOperands<T>& head) {
    const bool in_place = head.queries_t.planes == 0 && head.scaled.data.empty();
    for (std::int64_t r = 0; in_place && r < tile_.tile.rows(); ++r) {
      T* row = tile_.scaled_gradient(r);
      for (std::int64_t j = 0; head.lambda[r] != T(1) && j < tile_.tile.stride(); ++j) row[j] *= head.lambda[r];
    }
    spread(tile_.scaled_gradient(0), head.queries_t, head.lambda.data(), in_place ? head.rows.queries : head.scaled,
           key_sums_);
  }

  // sums[j] += sum_i weights_ij rows_i, or in 16 bits sums^T += rows^T (factor weights).
  void spread(const T* weights, const NarrowLeft& rows_t, const T* factor, const LoadedRows<T>& rows,
              BlockSums<T>& sums) {
    const std::int64_t stride = tile_.tile.stride(), keys = tile_.tile.keys.rows(), count = tile_.tile.rows();
    if constexpr (std::is_same_v<T, float>) {
      if (rows_t.planes > 0) {
        round_rows(rows_t.planes, weights, count, stride, factor, narrow_right_);
        return multiply(rows_t, 0, narrow_right_, sums.width, count, stride, sums.transposed_sums(), sums.keys_stride,
                        Store::accumulate);
      }
    }
    accumulate(Product<T>{{weights, 1, stride},
                          rows.data.data(),
                          sums.stride,
                          keys,
                          count,
                          sums.stride,
                          sums.sums.data(),
                          sums.stride},
               rows.finite);
  }

  // Loads all rows of a head, which are cached until another head is needed.
  void load_head(std::int64_t b, std::int64_t h) {
    if (loaded_b_ == b && loaded_h_ == h) return;
    loaded_b_ = b, loaded_h_ = h;
    rows_.clear();
    for (std::int64_t i0 = 0; i0 < dims_.n_q; i0 += kQueryBlock)
      rows_.emplace_back(context_, b, h, i0, std::min(i0 + kQueryBlock, dims_.n_q));
  }

  void store_block(std::int64_t b, std::int64_t kv_head, const KeyBlock<T>& block, AttentionGradients& out) {
    for (std::int64_t j = 0; j < block.rows(); ++j) {
      const std::int64_t row = (b * dims_.kv_heads + kv_head) * dims_.n_k + block.begin + j;
      store(out.key, row * dims_.d, dims_.d, key_sums_.finished(j));
      if (context_.upstream.output.present()) store(out.value, row * dims_.d_v, dims_.d_v, value_sums_.finished(j));
    }
  }

  const GradientContext& context_;
  const Dims& dims_;
  const KeyBlocks<T>& keys_;
  const KeyShares& shares_;
  GradientTile<T> tile_;
  std::int64_t loaded_b_ = -1, loaded_h_ = -1;
  std::vector<HeadOperands<T>> rows_;
  BlockSums<T> key_sums_, value_sums_;
  NarrowLeft narrow_left_;    // dS in 16 bits, by rows
  NarrowRight narrow_right_;  // weights or lambda dS in 16 bits, by pairs of rows
};

// dQ and dlambda of one head from the shares' sums, added in order.
template <class T>
void finish_queries(const ScoreContext& scores, std::int64_t b, std::int64_t h, const std::vector<Buffer<T>>& shares,
                    std::int64_t first_share, std::int64_t count, AttentionGradients& out) {
  const Dims& dims = scores.dims;
  const std::int64_t stride = padded(dims.d), head = h % dims.group() * dims.n_q;
  const View& queries = scores.problem.query;
  std::vector<T> g(dims.d), query(dims.d);
  for (std::int64_t i = 0; i < dims.n_q; ++i) {
    std::fill(g.begin(), g.end(), T(0));
    for (std::int64_t share = first_share; share < first_share + count; ++share)
      for (std::int64_t c = 0; c < dims.d; ++c) g[c] += shares[share][(head + i) * stride + c];
    const std::int64_t row = dims.row(b, h, i);
    load(queries, b * queries.stride[0] + h * queries.stride[1] + i * queries.stride[2], dims.d, query.data());
    const double lambda_gradient = contained_dot(g.data(), query.data(), dims.d);
    store(out.lambda, row, 1, &lambda_gradient);
    const T lambda = scores.scale<T>(row);
    for (T& x : g) x = contained_product(x, lambda);
    store(out.query, row * dims.d, dims.d, g.data());
  }
}

}  // namespace

AttentionGradients softmax_backward(const AttentionProblem& problem, const RowState& state,
                                    const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                    const std::vector<std::int64_t>& hard_keys, BiasGradient bias) {
  const bool same_type = !upstream.output.present() || upstream.output.type == problem.query.type;
  const ScoreContext scores(problem, state.lambda, same_type ? Factors::sixteen_bits_too : Factors::compute_type);
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
