// The loss as shards of attention without values; each target is left out of the stream and added at the end.
#include "isentropic/softmax_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/passes/passes.hpp"
#include "base/element.hpp"
#include "isentropic/attention.hpp"
#include "losses/validate.hpp"

namespace isentropic {
namespace {

// The number of rows with about `numbers` elements, in whole kernel blocks.
std::int64_t rows_of_block(const SoftmaxLossProblem& x, std::int64_t numbers, std::int64_t kernel_block) {
  return std::max<std::int64_t>(1, numbers / std::max<std::int64_t>(1, x.query.shape[1]) / kernel_block) * kernel_block;
}

// Block sizes. A pass keeps one block of keys and, in the backward pass, one of queries in memory at a time, in a few
// copies (packed, and with their gradients), more of the queries.
std::int64_t key_block(const SoftmaxLossProblem& x) { return rows_of_block(x, 1 << 20, kKeyBlock); }
std::int64_t query_block(const SoftmaxLossProblem& x) { return rows_of_block(x, 7 << 16, kQueryBlock); }

// [n, d] as [1, 1, n, d].
View as_heads(const View& x) {
  return View(x.data, x.type, {1, 1, x.shape[0], x.shape[1]},
              {x.shape[0] * x.stride[0], x.shape[0] * x.stride[0], x.stride[0], x.stride[1]});
}

// [n] as [1, 1, 1, n] or [1, 1, n].
View as_row(const View& x, std::size_t rank) {
  Shape shape(rank, 1), stride(rank, x.shape[0]);
  shape.back() = x.shape[0];
  stride.back() = x.stride[0];
  return View(x.data, x.type, shape, stride);
}

struct Block {
  std::int64_t begin, end;
};

// A block of queries and a block of keys as a shard of attention without values.
AttentionProblem shard_of(const SoftmaxLossProblem& x, Block queries, Block keys) {
  AttentionProblem shard;
  shard.query = as_heads(x.query).slice(2, queries.begin, queries.end);
  shard.key = as_heads(x.key).slice(2, keys.begin, keys.end);
  shard.scale = Scale::constant(x.scale);
  shard.soft_cap = x.soft_cap;
  if (x.bias.present()) shard.bias = Bias::dense(as_row(x.bias, 4).slice(3, keys.begin, keys.end));
  shard.mask = Mask::none().exclude_keys(x.target.slice(0, queries.begin, queries.end));
  if (x.exclude_self) shard.mask = shard.mask.exclude_self();
  shard.statistics = Statistics::of({Statistic::entropy});
  shard.shard = {.query_runs = {Run{queries.begin}},
                 .key_runs = {Run{keys.begin}},
                 .total_queries = x.query.shape[0],
                 .total_keys = x.key.shape[0]};
  shard.executor = x.executor;
  return shard;
}

// Every block of queries against every block of keys.
template <class Work>
void for_each_shard(const SoftmaxLossProblem& x, std::int64_t query_step, Work work) {
  const std::int64_t rows = x.query.shape[0], keys = x.key.shape[0], key_step = key_block(x);
  for (std::int64_t j = 0; j < keys; j += key_step)
    for (std::int64_t i = 0; i < rows; i += query_step)
      work(Block{i, std::min(i + query_step, rows)}, Block{j, std::min(j + key_step, keys)});
}

DType sums_type(const SoftmaxLossProblem& x) {
  return x.query.type == DType::float64 ? DType::float64 : DType::float32;
}

// The target's score in parts: raw = q.k, s after scale, cap and bias, and ds/dx at x = lambda raw.
struct TargetScore {
  std::int64_t key = -1;
  double raw = 0, score = 0, slope = 1;
  bool seen = false;  // by the target's own row
};

TargetScore target_of(const SoftmaxLossProblem& x, std::int64_t i, std::vector<double>& q, std::vector<double>& k) {
  TargetScore out;
  out.key = static_cast<std::int64_t>(element(x.target, i * x.target.stride[0]));
  if (out.key < 0) return out;
  const std::int64_t d = x.query.shape[1];
  load(x.query, i * x.query.stride[0], d, q.data());
  load(x.key, out.key * x.key.stride[0], d, k.data());
  for (std::int64_t c = 0; c < d; ++c) out.raw += q[c] * k[c];
  out.score = x.scale * out.raw;
  // A score that would overflow among the other keys must overflow here too.
  if (sums_type(x) == DType::float32) out.score = static_cast<float>(out.score);
  if (x.soft_cap) {
    const double t = std::tanh(out.score / *x.soft_cap);
    out.score = *x.soft_cap * t;
    out.slope = 1 - t * t;
  }
  out.seen = !(x.exclude_self && out.key == i);
  if (x.bias.present()) {
    out.seen = out.seen && !is_masking(x.bias, out.key * x.bias.stride[0]);
    out.score += element(x.bias, out.key * x.bias.stride[0]);
  }
  return out;
}

// Calls f(i, target, q_i, k_target) for every row with a target, in order.
template <class F>
void for_each_target(const SoftmaxLossProblem& x, F f) {
  std::vector<double> q(x.query.shape[1]), k(x.query.shape[1]);
  for (std::int64_t i = 0; i < x.query.shape[0]; ++i) {
    const TargetScore target = target_of(x, i, q, k);
    if (target.key >= 0) f(i, target, q, k);
  }
}

// log(1 + e^x).
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// `others`: the log-partition of the keys without the target.
double loss_of(const TargetScore& target, double others) {
  if (!target.seen) return others - target.score;
  if (target.score == std::numeric_limits<double>::infinity()) return std::numeric_limits<double>::quiet_NaN();
  const double x = others - target.score;
  return x == -std::numeric_limits<double>::infinity() ? 0.0 : softplus(x);
}

// to[from + c] += values[c], for gradients in the accumulation type.
void add(Tensor& to, std::int64_t from, const std::vector<double>& values, double factor) {
  with_compute_type(to.type(), [&]<class T>() {
    T* out = to.values<T>().data() + from;
    for (std::size_t c = 0; c < values.size(); ++c) out[c] += static_cast<T>(factor * values[c]);
  });
}

void add(Tensor& to, std::int64_t from, const Tensor& values) {
  with_compute_type(to.type(), [&]<class T>() {
    with_element_type(values.type(), [&]<class E>() {
      T* out = to.values<T>().data() + from;
      for (const E& x : values.values<E>()) *out++ += from_element<T>(x);
    });
  });
}

Tensor converted(Tensor&& tensor, DType type) {
  if (tensor.type() == type) return std::move(tensor);
  Tensor out(type, tensor.shape());
  with_compute_type(tensor.type(), [&]<class T>() { store(out, 0, tensor.size(), tensor.values<T>().data()); });
  return out;
}

// Upstream gradients in double, absent ones 0.
struct UpstreamRows {
  std::vector<double> loss, log_partition, entropy;

  UpstreamRows(const SoftmaxLossUpstream& given, std::int64_t rows)
      : loss(read(given.loss, rows)),
        log_partition(read(given.log_partition, rows)),
        entropy(read(given.entropy, rows)) {}

 private:
  static std::vector<double> read(const View& view, std::int64_t rows) {
    std::vector<double> out(rows, 0.0);
    for (std::int64_t i = 0; view.present() && i < rows; ++i) out[i] = element(view, i * view.stride[0]);
    return out;
  }
};

// Gradients of L and H for a block of rows, in attention's form. For every key but the target, the loss is a
// log-partition.
struct ShardUpstream {
  std::vector<double> log_partition, entropy;

  ShardUpstream(const SoftmaxLossProblem& x, const UpstreamRows& upstream, Block rows) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const bool has_target = element(x.target, i * x.target.stride[0]) >= 0;
      log_partition.push_back(upstream.log_partition[i] + (has_target ? upstream.loss[i] : 0));
      entropy.push_back(upstream.entropy[i]);
    }
  }

  AttentionUpstream views() const {
    const Shape shape{1, 1, std::ssize(entropy)};
    AttentionUpstream out;
    out.log_partition = View(log_partition.data(), shape);
    out.entropy = View(entropy.data(), shape);
    return out;
  }
};

// A block of rows in float32. E_p[k] and the target's key nearly cancel if a row is confident: gradients rounded to 16
// bits before that would be noise.
Tensor widened(const View& x, Block rows) {
  Tensor out(DType::float32, {rows.end - rows.begin, x.shape[1]});
  for (std::int64_t i = rows.begin; i < rows.end; ++i)
    load(x, i * x.stride[0], x.shape[1], out.values<float>().data() + (i - rows.begin) * x.shape[1]);
  return out;
}

// The scale and the records of a block of rows.
RowState rows_of(const SoftmaxLossProblem& x, const SoftmaxLossResult& forward, Block rows) {
  RowState out;
  const std::vector<double> scales(rows.end - rows.begin, x.scale);
  out.lambda = Tensor(sums_type(x), {1, 1, rows.end - rows.begin});
  store(out.lambda, 0, std::ssize(scales), scales.data());
  out.allocate_records(MomentSet::entropy);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) out.set_record(i - rows.begin, forward.records[i]);
  return out;
}

// Adds the contribution of all keys but the targets to the gradients.
void add_rows(const SoftmaxLossProblem& x, const SoftmaxLossResult& forward, const UpstreamRows& upstream,
              SoftmaxLossGradients& out) {
  const std::int64_t d = x.query.shape[1];
  const BiasGradient bias = x.bias.present() ? BiasGradient::compute : BiasGradient::skip;
  for_each_shard(x, query_block(x), [&](Block queries, Block keys) {
    AttentionProblem shard = shard_of(x, queries, keys);
    Tensor wide_queries, wide_keys;
    if (x.query.type != sums_type(x)) {
      wide_queries = widened(x.query, queries), wide_keys = widened(x.key, keys);
      shard.query = as_heads(wide_queries), shard.key = as_heads(wide_keys);
    }
    AttentionResult whole_rows;
    whole_rows.rows = rows_of(x, forward, queries);
    const ShardUpstream part(x, upstream, queries);
    const std::vector<RowConstants> constants = attention_row_constants(shard, whole_rows, part.views());
    const AttentionGradients found = attention_backward(shard, whole_rows.rows, constants, part.views(), bias);
    add(out.query, queries.begin * d, found.query);
    add(out.key, keys.begin * d, found.key);
    if (x.bias.present()) add(out.bias, keys.begin, found.bias);
    for (double gradient : found.lambda.to_doubles()) out.scale += gradient;
  });
}

// d / d s_t of the row's loss, log-partition and entropy, each times its upstream gradient; terms with upstream
// gradient 0 are ignored.
double target_gradient(const TargetScore& target, const SoftmaxRecord<double>& row, double loss, double g_loss,
                       double g_log_partition, double g_entropy) {
  if (!target.seen) return -g_loss;
  const double p = std::exp(-loss);
  double g = 0;
  if (g_loss != 0) g += g_loss * std::expm1(-loss);
  if (g_log_partition != 0) g += g_log_partition * p;
  if (g_entropy != 0 && p != 0) g -= g_entropy * p * ((target.score - row.m) - row.sums.u / row.sums.z);
  return g;
}

// Adds the contribution of the targets.
void add_targets(const SoftmaxLossProblem& x, const SoftmaxLossResult& forward, const UpstreamRows& upstream,
                 SoftmaxLossGradients& out) {
  const std::int64_t d = x.query.shape[1];
  for_each_target(x, [&](std::int64_t i, const TargetScore& target, const auto& q, const auto& k) {
    const double g = target_gradient(target, forward.records[i], forward.loss[i], upstream.loss[i],
                                     upstream.log_partition[i], upstream.entropy[i]);
    if (g == 0) return;
    const double through_cap = g * target.slope;
    add(out.query, i * d, k, through_cap * x.scale);
    add(out.key, target.key * d, q, through_cap * x.scale);
    if (x.bias.present()) add(out.bias, target.key, {1.0}, g);
    out.scale += through_cap * target.raw;
  });
}

}  // namespace

SoftmaxLossResult softmax_loss(const SoftmaxLossProblem& problem) {
  validate_shapes(problem);
  validate_targets(problem);
  SoftmaxLossResult out;
  out.records.resize(problem.query.shape[0]);
  out.loss.assign(problem.query.shape[0], 0.0);
  // The forward pass keeps only the rows a thread is working on, so all rows can be processed at once.
  const std::int64_t all_rows = std::max<std::int64_t>(1, problem.query.shape[0]);
  for_each_shard(problem, all_rows, [&](Block queries, Block keys) {
    const AttentionResult found = attention_statistics(shard_of(problem, queries, keys));
    for (std::int64_t i = queries.begin; i < queries.end; ++i)
      out.records[i] = merge(out.records[i], found.rows.record(i - queries.begin));
  });
  for_each_target(problem, [&](std::int64_t i, const TargetScore& target, const auto&, const auto&) {
    out.loss[i] = loss_of(target, log_partition(out.records[i]));
    if (target.seen) out.records[i] = merge(out.records[i], single_key(target.score, target.key));
  });
  return out;
}

SoftmaxLossGradients softmax_loss_backward(const SoftmaxLossProblem& problem, const SoftmaxLossResult& forward,
                                           const SoftmaxLossUpstream& upstream) {
  validate_shapes(problem);
  validate_targets(problem);
  const std::int64_t rows = problem.query.shape[0];
  for (const std::size_t met : {forward.records.size(), forward.loss.size()})
    if (static_cast<std::int64_t>(met) != rows)
      throw Error("forward result rows", std::to_string(met), std::to_string(rows) + ", as the problem");
  SoftmaxLossGradients out;
  // Sums of many parts are kept in the accumulation type and rounded once.
  out.query = Tensor(sums_type(problem), problem.query.shape);
  out.key = Tensor(sums_type(problem), problem.key.shape);
  if (problem.bias.present()) out.bias = Tensor(sums_type(problem), problem.bias.shape);
  const UpstreamRows upstream_rows(upstream, rows);
  add_rows(problem, forward, upstream_rows, out);
  add_targets(problem, forward, upstream_rows, out);
  out.query = converted(std::move(out.query), problem.query.type);
  out.key = converted(std::move(out.key), problem.key.type);
  return out;
}

}  // namespace isentropic
