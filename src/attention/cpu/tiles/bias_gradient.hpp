// Gradients of bias tensors: dense ones (summed over the axes they repeat) and relative tables (summed over lags).
#pragma once

#include "attention/cpu/tiles/gradient_tile.hpp"
#include "attention/passes/backward.hpp"

namespace isentropic {

// Sums d loss / d bias row by row, in double. Rows of ALiBi problems have one sum each and may be added from several
// threads; elements of dense biases and relative tables are shared by rows, so callers must not add to them
// concurrently.
class BiasAccumulator {
 public:
  explicit BiasAccumulator(const ScoreContext& context) : context_(context) {
    const Bias& bias = context.problem.bias;
    if (kind() == Bias::Kind::alibi) sums_.assign(context.dims.rows(), 0.0);
    if (rows_share()) sums_.assign(Tensor(DType::boolean, bias.values().shape).size(), 0.0);
  }

  bool rows_share() const { return kind() == Bias::Kind::dense || kind() == Bias::Kind::relative; }

  // Adds the gradients of row (b, h, i) with respect to the bias of neighbouring keys j0, j0 + 1, ...
  template <class T>
  void add(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j0, std::int64_t n, const T* gradient) {
    if (kind() == Bias::Kind::none) return;
    const std::int64_t first = context_.visibility.place(b, i).position - context_.visibility.keys()[j0];
    if (kind() == Bias::Kind::alibi) {
      double& sum = sums_[context_.dims.row(b, h, i)];
      for (std::int64_t j = 0; j < n; ++j)
        sum -= static_cast<double>(gradient[j]) * static_cast<double>(std::abs(first - j));
      return;
    }
    // The layout of the sums, which are contiguous whatever the strides of the bias.
    const View place(sums_.data(), context_.problem.bias.values().shape);
    if (kind() == Bias::Kind::dense) {
      double* out = sums_.data() + broadcast_offset(place, b, h, i, j0);
      const std::int64_t step = place.shape[3] == 1 ? 0 : 1;  // 0: one number for the whole row
      for (std::int64_t j = 0; j < n; ++j) out[j * step] += static_cast<double>(gradient[j]);
      return;
    }
    const std::int64_t reach = place.shape[1] / 2;
    double* out = sums_.data() + broadcast_offset(place, h, 0) + reach;
    for (std::int64_t j = 0; j < n; ++j) out[std::clamp(first - j, -reach, reach)] += static_cast<double>(gradient[j]);
  }

  // Shaped like the bias; ALiBi: [heads].
  Tensor take() const {
    if (kind() == Bias::Kind::none) return {};
    if (kind() == Bias::Kind::alibi)
      return sum_by_head(context_.dims, statistics_type(context_.problem),
                         [&](std::int64_t row) { return sums_[row]; });
    const View& values = context_.problem.bias.values();
    Tensor out(values.type, values.shape);
    store(out, 0, out.size(), sums_.data());
    return out;
  }

 private:
  Bias::Kind kind() const { return context_.problem.bias.kind(); }

  const ScoreContext& context_;
  std::vector<double> sums_;
};

// How many tasks can fill a bias gradient without sharing an element, and which task owns which rows (b, h, block).
struct BiasTasks {
  std::int64_t batches, heads, blocks;

  BiasTasks(const Bias& bias, const Dims& dims, std::int64_t query_blocks)
      : batches(dims.batch), heads(dims.heads), blocks(query_blocks) {
    if (bias.kind() == Bias::Kind::alibi) return;  // every row has its own sum
    const Shape& shape = bias.values().shape;
    const bool dense = bias.kind() == Bias::Kind::dense;
    batches = dense ? shape[0] : 1;
    heads = dense ? shape[1] : shape[0];
    blocks = dense && shape[2] != 1 ? query_blocks : 1;
  }
  std::int64_t count() const { return batches * heads * blocks; }
  bool owns(std::int64_t task, std::int64_t b, std::int64_t h, std::int64_t block) const {
    return task == ((batches == 1 ? 0 : b) * heads + (heads == 1 ? 0 : h)) * blocks + (blocks == 1 ? 0 : block);
  }
};

// The sweep that fills a bias gradient.
template <class T>
void sweep_bias(const GradientContext& context, const KeyBlocks<T>& key_blocks, BiasAccumulator& accumulator) {
  const ScoreContext& scores = context.scores;
  const Dims& dims = scores.dims;
  const std::int64_t query_blocks = (dims.n_q + kQueryBlock - 1) / kQueryBlock;
  const BiasTasks tasks(scores.problem.bias, dims, query_blocks);
  const auto add_rows = [&](std::int64_t b, std::int64_t h, std::int64_t i0) {
    const std::int64_t i1 = std::min(i0 + kQueryBlock, dims.n_q);
    GradientTile<T> tile(context);
    tile.keep_bias_gradient();
    const GradientRows<T> rows(context, b, h, i0, i1);
    tile.use_rows(b, h, rows);
    key_blocks.for_each(b, dims.kv_head(h), {0, dims.n_k}, [&](const KeyBlock<T>& block) {
      tile.load_keys(block);
      if (!tile.compute()) return;
      for (std::int64_t i = i0; i < i1; ++i)
        accumulator.add(b, h, i, block.begin, tile.tile.keys.rows(), tile.bias_gradient(i - i0));
    });
  };
  executor_of(scores.problem).parallel_for(tasks.count(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task)
      for (std::int64_t b = 0; b < dims.batch; ++b)
        for (std::int64_t h = 0; h < dims.heads; ++h)
          for (std::int64_t block = 0; block < query_blocks; ++block)
            if (tasks.owns(task, b, h, block)) add_rows(b, h, block * kQueryBlock);
  });
}

}  // namespace isentropic
