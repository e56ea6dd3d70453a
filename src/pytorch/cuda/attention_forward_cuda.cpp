// The forward operator on the CUDA kernels: allocates their outputs and chooses which ones run.
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>

#include "pytorch/cuda/attention_cuda.hpp"
#include "pytorch/cuda/stacked_statistics.hpp"
#include "pytorch/cuda/stream.hpp"

namespace isentropic::pytorch {
namespace {

constexpr CudaKernels kKernels = {forward_on_cuda, backward_on_cuda, key_mass_on_cuda,
                                  weights_on_cuda, partial_on_cuda,  finish_on_cuda};
[[maybe_unused]] const bool announced = (cuda_kernels() = &kKernels, true);

}  // namespace

std::optional<Forward> forward_on_cuda(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                                       const std::optional<at::Tensor>& value, at::TensorList terms) {
  if (!has_kernels(text, query)) return {};
  const at::NoGradGuard no_gradient;
  const c10::DeviceGuard guard(query.device());
  DeviceProblem on(text, query, key, value, terms);
  const cuda::Problem& p = on.device;
  at::Tensor rows = on.empty({row_fields(on.problem), p.batch, p.heads, p.n_q}, on.real);
  at::Tensor row_counts = on.empty({kCounts, p.batch, p.heads, p.n_q}, at::kLong);
  const at::Tensor lambda = rows.select(0, kScaleField);
  on.find_scales(lambda, count_entry(row_counts, 3));

  const StatisticsLayout layout(on.problem);
  StackedStatistics statistics(on, layout);
  cuda::RowArrays arrays = arrays_of(rows, row_counts);
  cuda::ForwardOutput out;
  out.rows = arrays;
  // Without tests, spans give the number of keys a row sees; the argmax needs a kernel of its own.
  const bool counts_keys = p.tests.any() || p.bias.data;
  if (!counts_keys) out.rows.k = nullptr;
  if (!on.problem.statistics.has(Statistic::argmax)) out.rows.a = nullptr;
  at::Tensor output = value ? empty_in_order_of(query, {p.batch, p.heads, p.n_q, p.d_v}, query.options())
                            : at::empty({0}, query.options());
  if (value) out.output = output.mutable_data_ptr(), out.output_stride = strides_of(output);
  if (on.problem.statistics.wants_groups()) out.groups = statistics.groups;
  require_launched(run_forward(on, out));

  arrays.k = out.rows.k, arrays.a = out.rows.a;
  if (!arrays.k) statistics.places.k = count_entry(row_counts, 0);
  if (!arrays.a) statistics.places.a = count_entry(row_counts, 1);
  statistics.places.n = count_entry(row_counts, 2);
  if (!on.spec->scale.is_target_entropy()) statistics.places.status = count_entry(row_counts, 3);
  statistics.places.counts_n = on.spec->scale.looks_at_n();
  if (on.has_one_scale()) statistics.places.lambda = lambda.mutable_data_ptr();
  require_launched(cuda::statistics(p, arrays, statistics.places, on.stream));
  return Forward(std::move(output), std::move(statistics.differentiable), std::move(statistics.measured),
                 std::move(statistics.counted), std::move(rows), std::move(row_counts),
                 at::empty({0}, query.options().dtype(at::kLong)));
}

}  // namespace isentropic::pytorch
