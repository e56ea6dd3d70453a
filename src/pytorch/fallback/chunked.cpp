// Forward and backward passes in chunks of rows, each recorded by autograd where gradients are needed.
#include "pytorch/fallback/chunked.hpp"

#include <torch/library.h>

#include <cmath>
#include <limits>

#include "attention/passes/backward.hpp"
#include "attention/passes/statistics_writer.hpp"
#include "attention/problem/validate.hpp"
#include "attention/row_scales.hpp"
#include "pytorch/cuda_kernels.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/fallback/chunk_gradients.hpp"
#include "pytorch/fallback/chunked_scores.hpp"
#include "pytorch/row_state.hpp"
#include "pytorch/tensors.hpp"
#include "pytorch/upstream.hpp"

namespace isentropic::pytorch {
namespace {

bool needs_kernels(const AttentionProblem& problem) {
  return problem.map.kind() != ScoreMap::Kind::softmax || problem.dropout || problem.statistics.wants_groups() ||
         problem.scale.is_target_entropy() || problem.shard.total_queries >= 0 || problem.shard.total_keys >= 0 ||
         Dims(problem).rows() * Dims(problem).n_k == 0;  // PyTorch's reductions reject empty axes
}

// weights v, except that a weight of 0 skips NaN and Inf; with the gradient of the finite part.
at::Tensor contained_product(const at::Tensor& weights, const at::Tensor& finite_part, const at::Tensor& v) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const at::Tensor used = weights.detach().ne(0).to(v.scalar_type());
  const auto meets = [&](const at::Tensor& where) { return used.matmul(where.to(v.scalar_type())).gt(0); };
  const at::Tensor up = meets(v.eq(kInfinity)), down = meets(v.eq(-kInfinity));
  const at::Tensor nan = meets(v.isnan()).logical_or(up.logical_and(down));
  at::Tensor met = at::zeros_like(up, v.options());
  met.masked_fill_(up, kInfinity).masked_fill_(down, -kInfinity).masked_fill_(nan, std::nan(""));
  const at::Tensor finite = weights.matmul(finite_part);
  return at::where(met.eq(0), finite, finite + weights.sum(-1, true) * met);
}

// The sums of softmax_record.hpp over the keys of a row, and the output, normalised; empty rows give 0.
struct Folded {
  at::Tensor m, z, u, w, c, k, a, output;
  at::Tensor empty, z_safe;

  Folded(const at::Tensor& s, const Leaves& leaves, const NotFinite& inputs) {
    const at::Tensor seen = s.isneginf().logical_not();
    k = seen.sum(-1);
    const auto [highest, place] = s.detach().max(-1);
    empty = highest.isneginf();
    m = highest;
    a = place.masked_fill(empty, -1);
    const at::Tensor base = highest.masked_fill(empty, 0).unsqueeze(-1);
    const at::Tensor t = (s - base).masked_fill(seen.logical_not(), 0);
    const at::Tensor e = t.exp() * seen;
    z = e.sum(-1), u = (t * e).sum(-1), w = (t * t * e).sum(-1), c = (e * e).sum(-1);
    z_safe = z.masked_fill(empty, 1);
    if (!leaves.value.defined()) return;
    const at::Tensor& v = leaves.value;
    const std::int64_t batch = s.size(0), heads = s.size(1), rows = s.size(2), kv_heads = v.size(1);
    at::Tensor weights = e / z_safe.unsqueeze(-1) * gate(leaves).unsqueeze(-1);
    if (inputs.value.defined()) weights = weights.masked_fill(seen.logical_not(), 0);
    weights = weights.reshape({batch, kv_heads, heads / kv_heads * rows, -1});
    output = (inputs.value.defined() ? contained_product(weights, v, inputs.value) : weights.matmul(v))
                 .reshape({batch, heads, rows, -1});
  }

  at::Tensor log_partition() const {
    return (m + z_safe.log()).masked_fill(empty, -std::numeric_limits<double>::infinity());
  }
  at::Tensor total(const Leaves& leaves) const {
    return leaves.sink.defined() ? at::logaddexp(log_partition(), leaves.sink.reshape({-1, 1})) : log_partition();
  }
  // The factor that keys keep of the normaliser that includes the sink.
  at::Tensor gate(const Leaves& leaves) const {
    return leaves.sink.defined() ? (log_partition() - total(leaves)).exp() : at::ones_like(z);
  }
  at::Tensor entropy() const { return z_safe.log() - u / z_safe; }
  at::Tensor mean_score() const { return m.masked_fill(empty, 0) + u / z_safe; }
  at::Tensor score_variance() const { return w / z_safe - (u / z_safe).square(); }
  at::Tensor collision() const { return c / z_safe.square(); }
};

// A problem whose rows are processed in chunks.
class Chunked {
 public:
  Chunked(std::string_view text, const at::Tensor& query, const at::Tensor& key, const std::optional<at::Tensor>& value,
          at::TensorList terms)
      : bound(text, query, key, value, terms), device(query.device()) {
    validate(bound.problem, value ? ValueUse::required : ValueUse::ignored);
    if (needs_kernels(bound.problem)) return;
    scores_.emplace(bound, device);
    real = statistics_type(query);
    leaves.query = query.detach().to(real), leaves.key = key.detach().to(real);
    if (value) leaves.value = value->detach().to(real);
    const auto by_head = [&](const at::Tensor& numbers) { return numbers.reshape({-1}).expand({query.size(1)}); };
    if (const at::Tensor* bias = bound.find("bias"))
      leaves.bias = (bound.spec->bias == Bias::Kind::alibi ? by_head(*bias) : *bias).detach().to(real);
    if (const at::Tensor* sink = bound.find("sink")) leaves.sink = by_head(*sink).detach().to(real);
    part_from_not_finite();
    set_scales();
  }

  template <class Work>
  void for_each_chunk(Work work) const {
    const std::int64_t n_q = bound.problem.query.shape[2], step = scores_->rows_at_a_time();
    for (std::int64_t begin = 0; begin < n_q; begin += step) work(begin, std::min(begin + step, n_q));
  }

  Folded fold(const Leaves& from, std::int64_t begin, std::int64_t end) const {
    return Folded(scores_->scores(from, inputs, begin, end), from, inputs);
  }

  BoundProblem bound;
  at::Device device;
  at::ScalarType real = at::kFloat;
  Leaves leaves;
  NotFinite inputs;
  RowState rows;  // only their scales

 private:
  void part_from_not_finite() {
    const auto is_finite = [](const at::Tensor& x) { return !x.defined() || x.isfinite().all().item<bool>(); };
    if (is_finite(leaves.query) && is_finite(leaves.key) && is_finite(leaves.value)) return;
    inputs = {leaves.query, leaves.key, leaves.value};
    for (at::Tensor* leaf : {&leaves.query, &leaves.key, &leaves.value})
      if (leaf->defined()) *leaf = at::nan_to_num(*leaf, 0, 0, 0);
  }

  // Laws are evaluated on the host; the counts they depend on are taken on the masks' device.
  void set_scales() {
    AttentionProblem& problem = bound.problem;
    const Shape& q = problem.query.shape;
    if (bound.problem.scale.is_per_row()) {
      leaves.lambda = (*bound.find("scale")).detach().to(real).expand({q[0], q[1], q[2]}).contiguous();
      rows.lambda = from_torch(leaves.lambda.cpu());
      return;
    }
    at::Tensor counts;
    if (problem.scale.looks_at_n()) {
      std::vector<at::Tensor> parts;
      for_each_chunk([&](std::int64_t begin, std::int64_t end) {
        parts.push_back(scores_->visible(begin, end).expand({q[0], q[1], end - begin, -1}).sum(-1));
      });
      counts = at::cat(parts, 2).cpu().contiguous();
      problem.shard.visible = view_of(counts, "visible");
    }
    rows = row_scales(problem);
    problem.shard.visible = {};
    leaves.lambda = to_torch(Tensor(rows.lambda)).to(device);
  }

  std::optional<ChunkedScores> scores_;
};

// m, z, u, w, c and k, a of all rows.
void set_records(RowState& rows, const at::Tensor& reals, const at::Tensor& counts) {
  rows.m = from_torch(reals[0]), rows.z = from_torch(reals[1]), rows.u = from_torch(reals[2]);
  rows.w = from_torch(reals[3]), rows.c = from_torch(reals[4]);
  rows.k = from_torch(counts[0]), rows.a = from_torch(counts[1]);
}

// Statistics from records, computed on the host by the library's formulas.
std::tuple<at::Tensor, at::Tensor, at::Tensor> statistics_of(const AttentionProblem& problem,
                                                             const AttentionResult& result) {
  StatisticsWriter writer(problem);
  const Shape& q = problem.query.shape;
  for (std::int64_t row = 0; row < result.rows.rows(); ++row)
    writer.write(row, row / q[2] % q[1], result.rows.record(row));
  RowStatistics statistics = writer.take();
  return stack_statistics(problem, statistics);
}

// Accumulates the gradients of every chunk's output and statistics for the leaves.
void add_chunks(const Chunked& chunked, const at::Tensor& output, const AttentionUpstream& statistics,
                ChunkGradients& gradients) {
  const Shape& q = chunked.bound.problem.query.shape;
  const auto on_device = [&](const View& view) {
    if (!view.present()) return at::Tensor();
    const at::Tensor host = at::from_blob(const_cast<void*>(view.data), {q[0], q[1], q[2]}, at::kDouble);
    return host.to(chunked.device, chunked.real);
  };
  const at::Tensor gL = on_device(statistics.log_partition), gH = on_device(statistics.entropy),
                   gE = on_device(statistics.mean_score), gV = on_device(statistics.score_variance),
                   gC = on_device(statistics.collision);
  chunked.for_each_chunk([&](std::int64_t begin, std::int64_t end) {
    const RecordGradients record;
    const Folded rows = chunked.fold(chunked.leaves, begin, end);
    const auto part = [&](const at::Tensor& x) { return x.defined() ? x.slice(2, begin, end) : at::Tensor(); };
    gradients.add({{rows.output, part(output)},
                   {rows.total(chunked.leaves), part(gL)},
                   {rows.entropy(), part(gH)},
                   {rows.mean_score(), part(gE)},
                   {rows.score_variance(), part(gV)},
                   {rows.collision(), part(gC)}});
  });
}

// From the gradient of lambda to those of its law's parameters.
at::Tensor scale_gradient(const Chunked& chunked, const at::Tensor& lambda) {
  const AttentionProblem& problem = chunked.bound.problem;
  if (chunked.bound.problem.scale.is_per_row()) return lambda;
  if (problem.scale.learnable() == 0) return at::empty({0}, lambda.options().dtype(at::kFloat));
  const at::Tensor host = lambda.to(at::kCPU, at::kDouble).contiguous();
  Tensor rows(DType::float64, host.sizes().vec());
  std::copy_n(host.const_data_ptr<double>(), host.numel(), rows.values<double>().data());
  std::vector<at::Tensor> parameters;
  for (Tensor& parameter : scale_parameter_gradients(problem, chunked.rows, rows))
    parameters.push_back(to_torch(std::move(parameter)));
  return at::stack(parameters).to(chunked.device);
}

}  // namespace

Forward chunked_forward(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                        const std::optional<at::Tensor>& value, at::TensorList terms) {
  return with_python_errors([&] {
    const at::NoGradGuard no_gradient;
    if (const CudaKernels* kernels = cuda_kernels(); kernels && query.is_cuda())
      if (std::optional<Forward> found = kernels->forward(text, query, key, value, terms)) return *std::move(found);
    const Chunked chunked(text, query, key, value, terms);
    const AttentionProblem& problem = chunked.bound.problem;
    if (needs_kernels(problem))
      return moved_to(attention_forward(text, query.cpu(), key.cpu(), on_cpu(value), on_cpu(terms)), query.device());
    std::vector<at::Tensor> outputs, reals, counts_of_keys;
    chunked.for_each_chunk([&](std::int64_t begin, std::int64_t end) {
      const Folded rows = chunked.fold(chunked.leaves, begin, end);
      if (value) outputs.push_back(rows.output.to(query.scalar_type()));
      reals.push_back(at::stack({rows.m, rows.z, rows.u, rows.w, rows.c}));
      counts_of_keys.push_back(at::stack({rows.k, rows.a}));
    });
    AttentionResult result;
    result.rows = chunked.rows;
    set_records(result.rows, at::cat(reals, 3).cpu(), at::cat(counts_of_keys, 3).cpu());
    auto [statistics, measures, counts] = statistics_of(problem, result);
    const auto [rows, row_counts] = pack_rows(problem, result);
    return moved_to(Forward(value ? in_order_of(query, at::cat(outputs, 2)) : at::empty({0}, query.options()),
                            statistics, measures, counts, rows, row_counts, at::empty({0}, at::kLong)),
                    query.device());
  });
}

Backward chunked_backward(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                          const std::optional<at::Tensor>& value, at::TensorList terms, const at::Tensor& output,
                          const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor& selected,
                          const std::optional<at::Tensor>& output_gradient,
                          const std::optional<at::Tensor>& statistics_gradient, bool bias_gradient) {
  return with_python_errors([&] {
    if (const CudaKernels* kernels = cuda_kernels(); kernels && query.is_cuda())
      if (std::optional<Backward> found =
              kernels->backward(text, query, key, value, terms, output, rows, row_counts, selected, output_gradient,
                                statistics_gradient, bias_gradient))
        return *std::move(found);
    Chunked chunked(text, query, key, value, terms);
    const AttentionProblem& problem = chunked.bound.problem;
    if (needs_kernels(problem))
      return moved_to(attention_backward(text, query.cpu(), key.cpu(), on_cpu(value), on_cpu(terms), output.cpu(),
                                         rows.cpu(), row_counts.cpu(), selected.cpu(), on_cpu(output_gradient),
                                         on_cpu(statistics_gradient), bias_gradient),
                      query.device());
    const AttentionResult forward = unpack_rows(problem, rows.cpu(), row_counts.cpu(), at::empty({0}), selected);
    const Upstream upstream(problem, forward, std::nullopt, on_cpu(statistics_gradient));
    Leaves& leaves = chunked.leaves;
    std::vector<at::Tensor*> wanted = {&leaves.query, &leaves.key, &leaves.lambda};
    if (value) wanted.push_back(&leaves.value);
    if (bias_gradient && leaves.bias.defined()) wanted.push_back(&leaves.bias);
    if (leaves.sink.defined()) wanted.push_back(&leaves.sink);
    ChunkGradients gradients(wanted);
    add_chunks(chunked, output_gradient.value_or(at::Tensor()), upstream.views(), gradients);

    const auto of_input = [&](const at::Tensor& gradient, const at::Tensor& input) {
      return in_order_of(input, gradient.to(query.scalar_type()));
    };
    const auto of_term = [&](const at::Tensor& gradient) {
      return gradient.defined() ? gradient : at::empty({0}, query.options().dtype(at::kFloat));
    };
    at::Tensor sink = gradients.of(leaves.sink);
    if (sink.defined()) sink = sink + upstream.sink_share().to(query.device(), chunked.real);
    return Backward(of_input(gradients.of(leaves.query), query), of_input(gradients.of(leaves.key), key),
                    value ? of_input(gradients.of(leaves.value), *value) : at::empty({0}, query.options()),
                    of_term(gradients.of(leaves.bias)), of_term(sink),
                    scale_gradient(chunked, gradients.of(leaves.lambda)), of_term({}));
  });
}

namespace {

// These two are not composed of PyTorch's operators: what the kernels do not support runs on copies on the CPU.

at::Tensor key_mass(c10::string_view text, const at::Tensor& query, const at::Tensor& key, at::TensorList terms,
                    const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor& selected) {
  return with_python_errors([&] {
    if (const CudaKernels* kernels = cuda_kernels())
      if (std::optional<at::Tensor> found = kernels->key_mass(text, query, key, terms, rows, row_counts, selected))
        return *std::move(found);
    static const auto operation = c10::Dispatcher::singleton()
                                      .findSchemaOrThrow("isentropic::attention_key_mass", "")
                                      .typed<decltype(key_mass)>();
    return operation.call(text, query.cpu(), key.cpu(), on_cpu(terms), rows.cpu(), row_counts.cpu(), selected.cpu())
        .to(query.device());
  });
}

at::Tensor weights(c10::string_view text, const at::Tensor& query, const at::Tensor& key, at::TensorList terms,
                   at::IntArrayRef rows, const std::optional<at::Tensor>& finished, std::int64_t first_key) {
  return with_python_errors([&] {
    if (const CudaKernels* kernels = cuda_kernels())
      if (std::optional<at::Tensor> found = kernels->weights(text, query, key, terms, rows, finished, first_key))
        return *std::move(found);
    static const auto operation =
        c10::Dispatcher::singleton().findSchemaOrThrow("isentropic::attention_weights", "").typed<decltype(weights)>();
    return operation.call(text, query.cpu(), key.cpu(), on_cpu(terms), rows, std::nullopt, first_key)
        .to(query.device());
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(isentropic, CUDA, library) {
  library.impl("attention_key_mass", key_mass);
  library.impl("attention_weights", weights);
  library.impl("attention", chunked_forward);
  library.impl("attention_backward", chunked_backward);
}

}  // namespace isentropic::pytorch
