// The backward pass of maps that need whole rows. One task owns a kv head and processes its rows in order, so that key
// and value gradients are summed in the same order for any number of threads.
#include "attention/cpu/tiles/bias_gradient.hpp"
#include "attention/cpu/whole_rows/whole_row_scores.hpp"
#include "attention/cpu/whole_rows/whole_rows.hpp"

namespace isentropic {
namespace {

// Gradients of one kv head's keys and values, [n_k, padded width].
template <class T>
struct KeySums {
  std::vector<T> key, value;
};

template <class T>
class WholeRowsBackward {
 public:
  WholeRowsBackward(const ScoreContext& context, const KeyBlocks<T>& keys, const AttentionResult& forward,
                    const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                    std::vector<double>& alpha, AttentionGradients& out)
      : context_(context),
        dims_(context.dims),
        forward_(forward),
        constants_(constants),
        upstream_(upstream),
        alpha_(alpha),
        out_(out),
        keys_(keys),
        rows_(context, keys),
        map_(context.problem.map) {}

  // Adds bias gradients to `bias` unless it is null.
  void run(std::int64_t b, std::int64_t kv_head, BiasAccumulator* bias) {
    KeySums<T> sums{std::vector<T>(dims_.n_k * padded(dims_.d), T(0)),
                    std::vector<T>(dims_.n_k * padded(dims_.d_v), T(0))};
    for (std::int64_t h = kv_head * dims_.group(); h < (kv_head + 1) * dims_.group(); ++h)
      for (std::int64_t i0 = 0; i0 < dims_.n_q; i0 += kBufferedRows)
        run_rows(b, h, i0, std::min(i0 + kBufferedRows, dims_.n_q), sums, bias);
    store_keys(b, kv_head, sums);
  }

 private:
  void run_rows(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1, KeySums<T>& sums,
                BiasAccumulator* bias) {
    const std::int64_t n = dims_.n_k, rows = i1 - i0;
    rows_.compute(b, h, i0, i1);
    weights_.resize(rows * n);
    gradient_.assign(rows * n, T(0));
    if (upstream_.output.present()) form_weight_gradients(b, h, i0, i1);
    for (std::int64_t r = 0; r < rows; ++r) {
      differentiate_row(b, h, i0 + r, r);
      if (bias) bias->add(b, h, i0 + r, 0, n, gradient_.data() + r * n);
      if (const T* cap = rows_.cap_derivative(r))
        for (std::int64_t j = 0; j < n; ++j) gradient_[r * n + j] *= gradient_[r * n + j] == T(0) ? T(0) : cap[j];
    }
    spread(b, h, i0, i1, sums);
  }

  // dA = gO V^T.
  void form_weight_gradients(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1) {
    output_gradient_.load(upstream_.output, b, h, i0, i1);
    std::vector<T> products;
    keys_.for_each(b, dims_.kv_head(h), {0, dims_.n_k}, [&](const KeyBlock<T>& block) {
      products.resize((i1 - i0) * block.stride());
      multiply_columns(output_gradient_, 0, i1 - i0, block.transposed_values, block.rows(), products.data());
      for (std::int64_t r = 0; r < i1 - i0; ++r)
        std::copy_n(products.data() + r * block.stride(), block.rows(), gradient_.data() + r * dims_.n_k + block.begin);
    });
  }

  // dA becomes dS; weights become those that multiply the values.
  void differentiate_row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t r) {
    const AttentionProblem& problem = context_.problem;
    const std::span<T> scores = rows_.row(r), weights(weights_.data() + r * dims_.n_k, scores.size());
    const std::span<T> gradient(gradient_.data() + r * dims_.n_k, scores.size());
    const std::int64_t row = dims_.row(b, h, i);
    if (is_zero(upstream_.output, b, h, i) && (constants_.empty() || is_zero(constants_[row]))) {
      std::fill(weights.begin(), weights.end(), T(0));
      std::fill(gradient.begin(), gradient.end(), T(0));
      return;
    }
    apply_dropout(context_, b, h, i, 0, dims_.n_k, gradient.data());
    if (problem.map.kind() == ScoreMap::Kind::top_k) {
      const std::int64_t keys = forward_.selected.shape().back();
      // A NaN row selected nothing and stays NaN entirely.
      if (constants_[row].max_score == constants_[row].max_score)
        WholeRowMap<T>::keep(forward_.selected.template values<std::int64_t>().subspan(row * keys, keys), scores);
      softmax_gradient_row(constants_[row], dims_.n_k, scores.data(), gradient.data());
      std::copy(scores.begin(), scores.end(), weights.begin());
    } else {
      map_.forward(rows_.map_input(r), scores, weights);
      for (std::int64_t j = 0; j < dims_.n_k; ++j)
        if (scores[j] == -std::numeric_limits<T>::infinity()) gradient[j] = T(0);  // values of hidden keys may be NaN
      if (!alpha_.empty()) alpha_[row] = map_.alpha_gradient(rows_.map_input(r), weights, gradient);
      map_.backward(rows_.map_input(r), scores, weights, gradient);
    }
    apply_dropout(context_, b, h, i, 0, dims_.n_k, weights.data());
  }

  // From dx = gradient_ computes dQ and dlambda (stored) and dK and dV (accumulated).
  void spread(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1, KeySums<T>& sums) {
    const std::int64_t n = dims_.n_k, rows = i1 - i0, stride = padded(dims_.d), value_stride = padded(dims_.d_v);
    const LoadedRows<T>& queries = rows_.tile.queries();
    std::vector<T> gathered(rows * stride, T(0));
    keys_.for_each(b, dims_.kv_head(h), {0, n}, [&](const KeyBlock<T>& block) {
      accumulate(Product<T>{{gradient_.data() + block.begin, n, 1},
                            block.keys.data,
                            block.keys.stride,
                            rows,
                            block.rows(),
                            stride,
                            gathered.data(),
                            stride},
                 block.keys.finite);
    });
    store_queries(b, h, i0, i1, gathered);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T lambda = context_.template scale<T>(dims_.row(b, h, i0 + r));
      for (std::int64_t j = 0; j < n; ++j)  // hidden keys are excluded whatever lambda is
        if (gradient_[r * n + j] != T(0)) gradient_[r * n + j] *= lambda;
    }
    accumulate(
        Product<T>{{gradient_.data(), 1, n}, queries.data.data(), stride, n, rows, stride, sums.key.data(), stride},
        queries.finite);
    if (upstream_.output.present())
      accumulate(Product<T>{{weights_.data(), 1, n},
                            output_gradient_.data.data(),
                            value_stride,
                            n,
                            rows,
                            value_stride,
                            sums.value.data(),
                            value_stride},
                 output_gradient_.finite);
  }

  void store_queries(std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1, std::vector<T>& gathered) {
    const Feature feature = feature_of(context_.problem.map);
    LoadedRows<T> raw;
    raw.load(context_.problem.query, b, h, i0, i1);
    for (std::int64_t r = 0; r < i1 - i0; ++r) {
      const std::int64_t row = dims_.row(b, h, i0 + r);
      T* g = gathered.data() + r * padded(dims_.d);
      const double lambda_gradient = contained_dot(g, rows_.tile.queries().row(r), dims_.d);
      store(out_.lambda, row, 1, &lambda_gradient);
      const T lambda = context_.template scale<T>(row);
      for (std::int64_t c = 0; c < dims_.d; ++c)
        g[c] = contained_product(g[c], lambda * feature_derivative(feature, raw.row(r)[c]));
      store(out_.query, row * dims_.d, dims_.d, g);
    }
  }

  void store_keys(std::int64_t b, std::int64_t kv_head, KeySums<T>& sums) {
    const Feature feature = feature_of(context_.problem.map);
    const T factor = static_cast<T>(key_factor(context_.problem, b));
    LoadedRows<T> raw;
    for (std::int64_t j = 0; j < dims_.n_k; ++j) {
      const std::int64_t row = (b * dims_.kv_heads + kv_head) * dims_.n_k + j;
      T* key = sums.key.data() + j * padded(dims_.d);
      raw.load(context_.problem.key, b, kv_head, j, j + 1);
      for (std::int64_t c = 0; c < dims_.d && feature != Feature::identity; ++c)
        key[c] = contained_product(key[c], factor * feature_derivative(feature, factor * raw.row(0)[c]));
      store(out_.key, row * dims_.d, dims_.d, key);
      if (dims_.d_v > 0) store(out_.value, row * dims_.d_v, dims_.d_v, sums.value.data() + j * padded(dims_.d_v));
    }
  }

  const ScoreContext& context_;
  const Dims& dims_;
  const AttentionResult& forward_;
  const std::vector<RowConstants>& constants_;
  const AttentionUpstream& upstream_;
  std::vector<double>& alpha_;  // entmax: <dA, da / dalpha> of every row; otherwise empty
  AttentionGradients& out_;
  const KeyBlocks<T>& keys_;
  WholeRowScores<T> rows_;
  WholeRowMap<T> map_;
  LoadedRows<T> output_gradient_;
  std::vector<T> weights_, gradient_;
};

}  // namespace

AttentionGradients whole_rows_backward(const AttentionProblem& problem, const AttentionResult& forward,
                                       const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                       BiasGradient bias) {
  const ScoreContext context(problem, forward.rows.lambda, Factors::compute_type);
  const Dims& dims = context.dims;
  AttentionGradients out = allocate_gradients(problem);
  const bool has_alpha = problem.map.kind() == ScoreMap::Kind::entmax;
  std::vector<double> alpha(has_alpha ? dims.rows() : 0, 0.0);
  BiasAccumulator bias_sums(context);
  const bool wants_bias = bias == BiasGradient::compute && problem.bias.kind() != Bias::Kind::none;
  // If rows of different heads share elements of the bias, one thread processes all of them in order.
  Executor& executor = wants_bias && bias_sums.rows_share() ? serial_executor() : executor_of(problem);
  with_compute_type(problem.query.type, [&]<class T>() {
    const KeyBlocks<T> keys(problem, context.planes, {.keys = true, .transposed_values = upstream.output.present()});
    executor.parallel_for(dims.batch * dims.kv_heads, [&](std::int64_t begin, std::int64_t end) {
      WholeRowsBackward<T> rows(context, keys, forward, constants, upstream, alpha, out);
      for (std::int64_t task = begin; task < end; ++task)
        rows.run(task / dims.kv_heads, task % dims.kv_heads, wants_bias ? &bias_sums : nullptr);
    });
  });
  if (wants_bias) out.bias = bias_sums.take();
  if (has_alpha) out.alpha = sum_by_head(dims, statistics_type(problem), [&](std::int64_t row) { return alpha[row]; });
  return out;
}

}  // namespace isentropic
