// Gradients of a block of scores: a score tile, its weights and dS, computed together.
#pragma once

#include <vector>

#include "attention/cpu/kernels/gradient_row.hpp"
#include "attention/cpu/tiles/dropout.hpp"
#include "attention/cpu/tiles/score_tile.hpp"
#include "attention/passes/backward.hpp"

namespace isentropic {

struct GradientContext {
  const ScoreContext& scores;
  const AttentionUpstream& upstream;
  const std::vector<RowConstants>& constants;  // [batch, heads, n_q]
  const std::vector<std::int64_t>& hard_keys;  // straight-through: the chosen key of each row; else empty
};

// Rows [i0, i1) of head h with their upstream gradients.
template <class T>
struct GradientRows {
  LoadedRows<T> queries, upstream;
  std::vector<bool> silent;  // upstream gradients all 0: the row contributes nothing, whatever it contains

  GradientRows(const GradientContext& context, std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1) {
    queries.load(context.scores.problem.query, b, h, i0, i1, context.scores.planes);
    const View& output = context.upstream.output;
    if (output.present()) upstream.load(output, b, h, i0, i1, context.scores.planes);
    for (std::int64_t i = i0; i < i1; ++i)
      silent.push_back(is_zero(context.constants[context.scores.dims.row(b, h, i)]) && is_zero(output, b, h, i));
  }
};

template <class T>
class GradientTile {
 public:
  explicit GradientTile(const GradientContext& context) : tile(context.scores), context_(context) {}

  // Rows and their upstream gradients, loaded and owned by the caller.
  void use_rows(std::int64_t b, std::int64_t h, const GradientRows<T>& rows) {
    b_ = b, h_ = h, rows_ = &rows;
    tile.use_queries(b, h, rows.queries);
  }

  void load_keys(const KeyBlock<T>& block) { tile.load_keys(block); }

  // Returns false if no row sees a key of the block.
  bool compute() {
    if (tile.compute() == TileVisibility::none) return false;
    const std::int64_t rows = tile.queries().rows(), stride = tile.stride();
    gradient_.assign(rows * stride, T(0));
    if (context_.upstream.output.present())
      multiply_columns(rows_->upstream, 0, rows, tile.keys.transposed_values, tile.keys.rows(), gradient_.data());
    for (std::int64_t r = 0; r < rows; ++r) compute_row(r);
    return true;
  }

  // Weights as multiplied with the values, including sink, dropout and straight-through.
  T* weights(std::int64_t r) { return tile.row(r); }
  // d loss / d s taken through cap and Gumbel temperature, that is, d loss / d x.
  T* scaled_gradient(std::int64_t r) { return gradient_.data() + r * tile.stride(); }
  // d loss / d bias, before the cap's derivative; valid if keep_bias_gradient() was called.
  const T* bias_gradient(std::int64_t r) const { return bias_gradient_.data() + r * padded(tile.keys.rows()); }

  void keep_bias_gradient() { keep_bias_ = true; }

  ScoreTile<T> tile;

 private:
  void compute_row(std::int64_t r) {
    const std::int64_t i = tile.queries().begin + r, n = tile.keys.rows(), stride = tile.stride();
    const RowConstants& constants = context_.constants[context_.scores.dims.row(b_, h_, i)];
    T *p = tile.row(r), *gradient = scaled_gradient(r);
    if (rows_->silent[r]) {
      std::fill_n(p, stride, T(0));
      std::fill_n(gradient, stride, T(0));
      if (keep_bias_) keep_bias_row(r);
      return;
    }
    apply_dropout(context_.scores, b_, h_, i, tile.keys.begin, n, gradient);
    softmax_gradient_row(constants, stride, p, gradient);
    make_weights(i, constants, p);
    const T outer = tile.outer_derivative();
    for (std::int64_t j = 0; j < stride; ++j) gradient[j] *= outer;
    if (keep_bias_) keep_bias_row(r);
    if (const T* cap = tile.cap_derivative(r))
      for (std::int64_t j = 0; j < n; ++j) gradient[j] = gradient[j] == T(0) ? T(0) : gradient[j] * cap[j];
  }

  void keep_bias_row(std::int64_t r) {
    bias_gradient_.resize(gradient_.size());
    std::copy_n(scaled_gradient(r), tile.stride(), bias_gradient_.data() + r * tile.stride());
  }

  void make_weights(std::int64_t i, const RowConstants& constants, T* p) const {
    const std::int64_t n = tile.keys.rows();
    if (!context_.hard_keys.empty()) {
      const std::int64_t chosen = context_.hard_keys[context_.scores.dims.row(b_, h_, i)];
      for (std::int64_t j = 0; j < n; ++j) p[j] = j + tile.keys.begin == chosen ? T(1) : T(0);
      return;
    }
    const T gate = static_cast<T>(constants.gate);
    for (std::int64_t j = 0; j < n; ++j) p[j] = p[j] == T(0) ? T(0) : p[j] * gate;  // a NaN gate spares zero weights
    apply_dropout(context_.scores, b_, h_, i, tile.keys.begin, n, p);
  }

  const GradientContext& context_;
  std::int64_t b_ = 0, h_ = 0;
  const GradientRows<T>* rows_ = nullptr;
  bool keep_bias_ = false;
  Buffer<T> gradient_, bias_gradient_;
};

}  // namespace isentropic
