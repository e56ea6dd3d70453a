// Two-level attention built from flat attention: inside each block of keys, then over the blocks.
#include "isentropic/hierarchical_attention.hpp"

#include <cmath>

#include "attention/problem/dims.hpp"
#include "attention/problem/validate.hpp"
#include "attention/row_scales.hpp"
#include "base/checks.hpp"
#include "base/element.hpp"
#include "softmax/weighted_sum.hpp"

namespace isentropic {
namespace {

void validate(const HierarchicalProblem& problem) {
  const AttentionProblem& inner = problem.attention;
  isentropic::validate(inner);
  require_at_least("block", problem.block, 1);
  if (inner.map.kind() != ScoreMap::Kind::softmax) throw Error("hierarchical map", inner.map.name(), "softmax");
  if (inner.sink || inner.dropout) throw Error("hierarchical attention", "given a sink or dropout", "neither");
  if (inner.shard.total_keys >= 0 || inner.shard.total_queries >= 0)
    throw Error("hierarchical attention", "given a shard", "the whole problem");
  if (problem.score == BlockScore::log_partition) return;
  const bool additive = inner.mask.dense_part.present() && inner.mask.dense_part.type != DType::boolean;
  if (inner.bias.kind() != Bias::Kind::none || inner.soft_cap || additive)
    throw Error("mean-key block score", "given with a bias or soft cap", "plain scores");
  if (problem.block_scale.is_per_row() || problem.block_scale.is_target_entropy())
    throw Error("block scale", problem.block_scale.name(), "a law that is a formula");
}

// The two levels, one block at a time: the code forward and backward share.
class Levels {
 public:
  Levels(const HierarchicalProblem& problem, const RowState& rows)
      : problem_(problem), dims_(problem.attention), visibility_(problem.attention), lambda_(rows.lambda) {
    if (problem.score == BlockScore::mean_key) block_lambda_ = block_scales();
  }

  std::int64_t blocks() const { return (dims_.n_k + problem_.block - 1) / problem_.block; }
  Tensor rows_tensor() const { return Tensor(DType::float64, {dims_.batch, dims_.heads, dims_.n_q}); }
  Span keys(std::int64_t block) const {
    return {block * problem_.block, std::min((block + 1) * problem_.block, dims_.n_k)};
  }

  // The attention inside a block, with the scale of the whole row.
  AttentionProblem inside(std::int64_t block) const {
    const Span range = keys(block);
    AttentionProblem inner = problem_.attention;
    inner.key = inner.key.slice(2, range.begin, range.end);
    inner.value = inner.value.slice(2, range.begin, range.end);
    const auto of_range = [&](const View& dense) {
      return dense.shape[3] == 1 ? dense : dense.slice(3, range.begin, range.end);
    };
    if (inner.mask.dense_part.present()) inner.mask.dense_part = of_range(inner.mask.dense_part);
    if (inner.bias.kind() == Bias::Kind::dense) inner.bias = Bias::dense(of_range(inner.bias.values()));
    inner.shard = {.key_runs = {Run{range.begin}}, .total_keys = dims_.n_k};
    inner.scale = Scale::per_row(lambda_.view());
    inner.statistics = Statistics::of({Statistic::entropy});
    return inner;
  }

  // Uniform attention whose output is the mean of the keys a row sees in the block.
  AttentionProblem mean_key(std::int64_t block) const {
    AttentionProblem mean = inside(block);
    mean.value = mean.key;
    mean.scale = Scale::constant(0.0);
    mean.statistics = Statistics::none();
    return mean;
  }

  // sigma of every row; -inf where the row sees no key of the block.
  std::vector<double> block_scores(const AttentionResult& inner, const Tensor& mean) const {
    std::vector<double> sigma(dims_.rows());
    for (std::int64_t row = 0; row < dims_.rows(); ++row) sigma[row] = log_partition(inner.rows.record(row));
    if (problem_.score == BlockScore::log_partition) return sigma;
    std::vector<double> q(dims_.d), k(dims_.d);
    for (std::int64_t row = 0; row < dims_.rows(); ++row) {
      if (inner.rows.record(row).empty()) continue;
      load_query(row, q.data());
      load(mean.view(), row * dims_.d, dims_.d, k.data());
      sigma[row] = 0;
      for (std::int64_t c = 0; c < dims_.d; ++c) sigma[row] += block_lambda_[row] * q[c] * k[c];
    }
    return sigma;
  }

  void load_query(std::int64_t row, double* out) const {
    const View& query = problem_.attention.query;
    load(query, row_offset(query, row), dims_.d, out);
  }
  std::int64_t row_offset(const View& view, std::int64_t row) const {
    return row / dims_.n_q / dims_.heads * view.stride[0] + row / dims_.n_q % dims_.heads * view.stride[1] +
           row % dims_.n_q * view.stride[2];
  }
  double block_lambda(std::int64_t row) const { return block_lambda_[row]; }

 private:
  std::vector<double> block_scales() const {
    std::vector<double> lambda(dims_.rows());
    for (std::int64_t row = 0; row < dims_.rows(); ++row) {
      const std::int64_t i = row % dims_.n_q, h = row / dims_.n_q % dims_.heads, b = row / dims_.n_q / dims_.heads;
      std::int64_t seen = 0;
      for (std::int64_t block = 0; block < blocks(); ++block)
        seen += visibility_.count(b, h, i, keys(block).begin, keys(block).end) > 0;
      const QueryPlace place = visibility_.place(b, i);
      lambda[row] = problem_.block_scale.lambda({seen, dims_.d, place.position - place.document.begin, h});
    }
    return lambda;
  }

  const HierarchicalProblem& problem_;
  Dims dims_;
  Visibility visibility_;
  Tensor lambda_;
  std::vector<double> block_lambda_;
};

}  // namespace

HierarchicalResult hierarchical_attention(const HierarchicalProblem& problem) {
  validate(problem);
  const Dims dims(problem.attention);
  HierarchicalResult result;
  result.rows = row_scales(problem.attention);
  result.block_records.resize(dims.rows());
  const Levels levels(problem, result.rows);
  // Each row's output followed by its entropy within blocks: both are averages over blocks.
  const std::int64_t width = dims.d_v + 1;
  std::vector<double> sums(dims.rows() * width, 0.0), value(width);
  for (std::int64_t block = 0; block < levels.blocks(); ++block) {
    const AttentionResult inner = attention(levels.inside(block));
    Tensor mean;
    if (problem.score == BlockScore::mean_key) mean = attention(levels.mean_key(block)).output;
    const std::vector<double> sigma = levels.block_scores(inner, mean);
    for (std::int64_t row = 0; row < dims.rows(); ++row) {
      if (inner.rows.record(row).empty()) continue;
      load(inner.output.view(), row * dims.d_v, dims.d_v, value.data());
      value[dims.d_v] = entropy(inner.rows.record(row));
      merge_weighted_sum(result.block_records[row], sums.data() + row * width, single_key(sigma[row], block),
                         value.data(), width);
    }
  }
  const Shape rows{dims.batch, dims.heads, dims.n_q};
  const DType type = statistics_type(problem.attention);
  result.output = Tensor(problem.attention.query.type, {dims.batch, dims.heads, dims.n_q, dims.d_v});
  result.entropy = Tensor(type, rows), result.block_entropy = Tensor(type, rows),
  result.within_entropy = Tensor(type, rows);
  for (std::int64_t row = 0; row < dims.rows(); ++row) {
    const SoftmaxRecord<double>& record = result.block_records[row];
    const double share = record.empty() ? 0.0 : 1 / record.sums.z;
    double* output = sums.data() + row * width;
    for (std::int64_t c = 0; c < width; ++c) output[c] *= share;
    const double h_block = entropy(record), h_within = output[dims.d_v], h = h_block + h_within;
    store(result.output, row * dims.d_v, dims.d_v, output);
    store(result.block_entropy, row, 1, &h_block);
    store(result.within_entropy, row, 1, &h_within);
    store(result.entropy, row, 1, &h);
  }
  return result;
}

HierarchicalGradients hierarchical_attention_backward(const HierarchicalProblem& problem,
                                                      const HierarchicalResult& forward, View output) {
  validate(problem);
  const AttentionProblem& whole = problem.attention;
  isentropic::validate(whole, AttentionUpstream{.output = output});
  const Dims dims(whole);
  if (static_cast<std::int64_t>(forward.block_records.size()) != dims.rows())
    throw Error("forward result rows", std::to_string(forward.block_records.size()), std::to_string(dims.rows()));
  const Levels levels(problem, forward.rows);
  const bool by_mean = problem.score == BlockScore::mean_key;
  HierarchicalGradients gradients{Tensor(whole.query.type, whole.query.shape), Tensor(whole.key.type, whole.key.shape),
                                  Tensor(whole.value.type, whole.value.shape)};
  std::vector<double> query(dims.rows() * dims.d, 0.0), g(dims.d_v), o(dims.d_v), o_block(dims.d_v), q(dims.d),
      k(dims.d);
  for (std::int64_t block = 0; block < levels.blocks(); ++block) {
    const AttentionProblem inside = levels.inside(block), mean_problem = levels.mean_key(block);
    const AttentionResult inner = attention(inside);
    AttentionResult mean;
    if (by_mean) mean = attention(mean_problem);
    const std::vector<double> sigma = levels.block_scores(inner, mean.output);
    Tensor output_gradient(DType::float64, {dims.batch, dims.heads, dims.n_q, dims.d_v});
    Tensor score_gradient = levels.rows_tensor(),
           mean_gradient(DType::float64, {dims.batch, dims.heads, dims.n_q, dims.d});
    for (std::int64_t row = 0; row < dims.rows(); ++row) {
      if (inner.rows.record(row).empty()) continue;
      const double mass = std::exp(sigma[row] - log_partition(forward.block_records[row]));
      load(output, levels.row_offset(output, row), dims.d_v, g.data());
      load(forward.output.view(), row * dims.d_v, dims.d_v, o.data());
      load(inner.output.view(), row * dims.d_v, dims.d_v, o_block.data());
      double d_sigma = 0;
      for (std::int64_t c = 0; c < dims.d_v; ++c) d_sigma += mass * g[c] * (o_block[c] - o[c]);
      for (std::int64_t c = 0; c < dims.d_v; ++c) g[c] *= mass;
      store(output_gradient, row * dims.d_v, dims.d_v, g.data());
      store(score_gradient, row, 1, &d_sigma);
      if (!by_mean) continue;
      const double factor = levels.block_lambda(row) * d_sigma;
      levels.load_query(row, q.data());
      load(mean.output.view(), row * dims.d, dims.d, k.data());
      for (std::int64_t c = 0; c < dims.d; ++c) query[row * dims.d + c] += factor * k[c], q[c] *= factor;
      store(mean_gradient, row * dims.d, dims.d, q.data());
    }
    const AttentionGradients part = attention_backward(
        inside, inner, {.output = output_gradient, .log_partition = by_mean ? View() : score_gradient.view()},
        BiasGradient::skip);
    std::vector<double> key = part.key.to_doubles();
    if (by_mean) {
      const std::vector<double> through_mean =
          attention_backward(mean_problem, mean, {.output = mean_gradient}).value.to_doubles();
      for (std::size_t x = 0; x < key.size(); ++x) key[x] += through_mean[x];
    }
    const std::vector<double> query_part = part.query.to_doubles(), value = part.value.to_doubles();
    for (std::size_t x = 0; x < query.size(); ++x) query[x] += query_part[x];
    const Span range = levels.keys(block);
    for (std::int64_t head = 0; head < dims.batch * dims.kv_heads; ++head) {
      store(gradients.key, (head * dims.n_k + range.begin) * dims.d, range.size() * dims.d,
            key.data() + head * range.size() * dims.d);
      store(gradients.value, (head * dims.n_k + range.begin) * dims.d_v, range.size() * dims.d_v,
            value.data() + head * range.size() * dims.d_v);
    }
  }
  store(gradients.query, 0, dims.rows() * dims.d, query.data());
  return gradients;
}

}  // namespace isentropic
