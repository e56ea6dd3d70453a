// Partial attention on the CUDA kernels: a forward pass whose output stays in the type of sums, and the finish.
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>

#include "pytorch/cuda/attention_cuda.hpp"
#include "pytorch/cuda/stacked_statistics.hpp"
#include "pytorch/cuda/stream.hpp"

namespace isentropic::pytorch {
namespace {

void refuse_groups(const AttentionProblem& problem) {
  if (problem.statistics.wants_groups())
    throw Error("groups", "given with partial results on a GPU", "all keys in one place, or the CPU");
}

}  // namespace

std::optional<PartialTensors> partial_on_cuda(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                                              const at::Tensor& value, at::TensorList terms) {
  if (!has_kernels(text, query)) return {};
  const at::NoGradGuard no_gradient;
  const c10::DeviceGuard guard(query.device());
  DeviceProblem on(text, query, key, value, terms);
  refuse_groups(on.problem);
  on.device.sink = nullptr;  // added once, at the finish
  const cuda::Problem& p = on.device;
  at::Tensor rows = on.empty({row_fields(on.problem), p.batch, p.heads, p.n_q}, on.real);
  at::Tensor row_counts = on.empty({kCounts, p.batch, p.heads, p.n_q}, at::kLong);
  const at::Tensor lambda = rows.select(0, kScaleField);
  on.find_scales(lambda, count_entry(row_counts, 3));
  at::Tensor output = on.empty({p.batch, p.heads, p.n_q, p.d_v}, on.real);
  cuda::ForwardOutput out;
  out.rows = arrays_of(rows, row_counts);
  if (!(p.tests.any() || p.bias.data)) out.rows.k = nullptr;
  const bool finds_argmax = on.problem.statistics.has(Statistic::argmax);
  if (!finds_argmax) out.rows.a = nullptr;
  out.output = output.mutable_data_ptr(), out.output_stride = strides_of(output), out.real_output = true;
  require_launched(run_forward(on, out));

  cuda::StatisticsOutput counts;
  cuda::RowArrays arrays = arrays_of(rows, row_counts);
  arrays.k = out.rows.k, arrays.a = out.rows.a;
  if (!arrays.k) counts.k = count_entry(row_counts, 0);
  if (!arrays.a) counts.a = count_entry(row_counts, 1);
  counts.n = count_entry(row_counts, 2), counts.status = count_entry(row_counts, 3);
  counts.counts_n = on.spec->scale.looks_at_n();
  if (on.has_one_scale()) counts.lambda = lambda.mutable_data_ptr();
  require_launched(cuda::statistics(p, arrays, counts, on.stream));
  // Keys are numbered from the first one of the whole problem.
  if (finds_argmax && !on.spec->shard.key_runs.empty()) {
    at::Tensor argmax = row_counts.select(0, 1);
    argmax.add_(argmax.ge(0), on.spec->shard.key_runs[0].offset);
  }
  output.mul_(rows.select(0, kSumFields).unsqueeze(-1));
  return PartialTensors(std::move(output), std::move(rows), std::move(row_counts), at::empty({0}, query.options()));
}

std::optional<Forward> finish_on_cuda(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                                      const at::Tensor& value, at::TensorList terms, const at::Tensor& output,
                                      const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor&) {
  if (!has_kernels(text, query)) return {};
  const at::NoGradGuard no_gradient;
  const c10::DeviceGuard guard(query.device());
  DeviceProblem on(text, query, key, value, terms);
  refuse_groups(on.problem);
  const cuda::Problem& p = on.device;
  const at::Tensor numbers = rows.contiguous(), integers = row_counts.contiguous();
  const StatisticsLayout layout(on.problem);
  StackedStatistics statistics(on, layout);
  require_launched(cuda::statistics(p, arrays_of(numbers, integers), statistics.places, on.stream));
  const at::Tensor m = numbers.select(0, kMaximumField), z = numbers.select(0, kSumFields);
  at::Tensor all = z;
  if (p.sink) {
    const at::Tensor sink = on.problem_term("sink").detach().to(on.real).reshape({1, -1, 1});
    all = z + (sink - m).exp();
  }
  // A row that sees no key gives 0.
  const at::Tensor inverse = all.reciprocal().masked_fill_(z.eq(0), 0);
  at::Tensor finished = empty_in_order_of(query, {p.batch, p.heads, p.n_q, p.d_v}, query.options());
  finished.copy_(output * inverse.unsqueeze(-1));
  return Forward(std::move(finished), std::move(statistics.differentiable), std::move(statistics.measured),
                 std::move(statistics.counted), numbers, integers, at::empty({0}, query.options().dtype(at::kLong)));
}

}  // namespace isentropic::pytorch
