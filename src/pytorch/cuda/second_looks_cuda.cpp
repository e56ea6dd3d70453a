// Key mass and weights of rows on the CUDA kernels.
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <utility>

#include "attention/cuda/key_mass.hpp"
#include "attention/cuda/plain.hpp"
#include "pytorch/cuda/attention_cuda.hpp"
#include "pytorch/cuda/stream.hpp"

namespace isentropic::pytorch {
namespace {

// Whether rows can be processed without the others: nothing is indexed by a row's number in the whole problem.
bool can_gather_rows(const cuda::Problem& p) {
  return !p.tests.layout && !p.tests.mask.data && !p.tests.excluded && !p.bias.data;
}

// Spans and positions of rows for a mask without a span array: [rows, 4 + 1].
at::Tensor spans_of_rows(const cuda::Problem& p, const std::vector<std::int64_t>& rows) {
  const cuda::VisibleKeys& visible = p.visible;
  std::vector<std::int64_t> numbers;
  for (const std::int64_t row : rows) {
    const std::int64_t position = row + visible.offset, prefix = std::min(visible.prefix, p.n_k);
    const std::int64_t begin = std::clamp(position - visible.left + 1, prefix, p.n_k);
    const std::int64_t end = std::clamp(position + visible.right + 1, begin, p.n_k);
    numbers.insert(numbers.end(), {0, prefix, begin, end, position});
  }
  return at::tensor(numbers, at::kLong).view({-1, 5});
}

// Keeps only the rows of an ascending list. Scales must already be set.
void gather_rows(DeviceProblem& on, const std::vector<std::int64_t>& rows) {
  cuda::Problem& p = on.device;
  const at::Tensor list = at::tensor(rows, at::kLong).to(on.query.device(), /*non_blocking=*/true);
  const auto view = [&](const void* data, at::IntArrayRef sizes, at::ScalarType type) {
    return at::from_blob(const_cast<void*>(data), sizes, on.query.options().dtype(type));
  };
  at::Tensor spans, positions;
  if (p.visible.spans) {
    spans = view(p.visible.spans, {p.batch, p.n_q, 4}, at::kInt).index_select(1, list);
    positions = view(p.visible.positions, {p.batch, p.n_q}, at::kInt).index_select(1, list);
  } else {
    const at::Tensor both = spans_of_rows(p, rows).to(on.query.device(), /*non_blocking=*/true).to(at::kInt);
    spans = both.narrow(1, 0, 4).expand({p.batch, -1, -1}).contiguous();
    positions = both.select(1, 4).expand({p.batch, -1}).contiguous();
  }
  p.visible.spans = reinterpret_cast<const cuda::RowSpans*>(on.keep(spans).const_data_ptr<std::int32_t>());
  p.visible.positions = on.keep(positions).const_data_ptr<std::int32_t>();
  if (p.scales)
    p.scales = on.keep(view(p.scales, {p.batch, p.heads, p.n_q}, on.real).index_select(2, list)).const_data_ptr();
  on.query = on.query.index_select(2, list);
  p.query = on.query.const_data_ptr(), p.query_stride = strides_of(on.query);
  p.n_q = std::ssize(rows);
}

// m and z of all rows, [2, batch, heads, n_q], and their scales, from a finished forward pass.
at::Tensor take_sums(DeviceProblem& on, const at::Tensor& finished) {
  const at::Tensor rows = finished.contiguous();
  on.take_scales(rows.select(0, kScaleField));
  return on.keep(rows.narrow(0, kMaximumField, 2));
}

// m and z of the wanted rows from a forward pass over them, or over all rows if they cannot be separated from the whole
// problem; `wanted` is then renumbered to the rows of that pass.
at::Tensor find_sums(DeviceProblem& on, std::vector<std::int64_t>* wanted) {
  const cuda::Problem& p = on.device;
  const at::Tensor lambda = on.empty({p.batch, p.heads, p.n_q}, on.real);
  const at::Tensor status = on.keep(on.empty({p.batch, p.heads, p.n_q}, at::kLong));
  on.find_scales(lambda, status.mutable_data_ptr<std::int64_t>());
  if (can_gather_rows(p)) {
    std::vector<std::int64_t> rows = *wanted;
    std::ranges::sort(rows);
    rows.erase(std::ranges::unique(rows).begin(), rows.end());
    gather_rows(on, rows);
    for (std::int64_t& row : *wanted) row = std::ranges::lower_bound(rows, row) - rows.begin();
  }
  on.device.moments = MomentSet::partition;
  const at::Tensor sums = on.keep(on.empty({2, p.batch, p.heads, p.n_q}, on.real));
  cuda::ForwardOutput records;
  records.rows.m = sums[0].mutable_data_ptr(), records.rows.z = sums[1].mutable_data_ptr();
  require_launched(run_forward(on, records));
  return sums;
}

}  // namespace

std::optional<at::Tensor> key_mass_on_cuda(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                                           at::TensorList terms, const at::Tensor& rows, const at::Tensor& row_counts,
                                           const at::Tensor&) {
  if (!has_kernels(text, query)) return {};
  const at::NoGradGuard no_gradient;
  const c10::DeviceGuard guard(query.device());
  DeviceProblem on(text, query, key, std::nullopt, terms);
  const at::Tensor row_numbers = rows.contiguous(), counts = row_counts.contiguous();
  on.take_scales(row_numbers.select(0, kScaleField));
  on.device.dropout = 0;  // weights are those before dropout
  at::Tensor out = on.empty({on.device.batch, on.device.heads, on.device.n_k}, on.real);
  const std::optional<cuda::Problem> fast = on.for_tensor_cores();
  const bool is_fast = fast && cuda::has_key_mass(*fast);
  const auto pass = is_fast ? cuda::key_mass : cuda::plain_key_mass;
  require_launched(
      pass(is_fast ? *fast : on.device, arrays_of(row_numbers, counts), out.mutable_data_ptr(), on.stream));
  return out;
}

std::optional<at::Tensor> weights_on_cuda(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                                          at::TensorList terms, at::IntArrayRef which,
                                          const std::optional<at::Tensor>& finished, std::int64_t first_key) {
  if (!has_kernels(text, query)) return {};
  const at::NoGradGuard no_gradient;
  const c10::DeviceGuard guard(query.device());
  DeviceProblem on(text, query, key, std::nullopt, terms);
  const cuda::Problem& p = on.device;
  for (const std::int64_t row : which)
    if (row < 0 || row >= p.n_q)
      throw Error("row", std::to_string(row), "from 0 to n_q - 1 = " + std::to_string(p.n_q - 1));
  at::Tensor out = on.empty({p.batch, p.heads, std::ssize(which), p.n_k - first_key}, on.real);
  if (out.numel() == 0) return out;
  on.device.dropout = 0;  // weights are those before dropout
  std::vector<std::int64_t> wanted = which.vec();
  const at::Tensor sums = finished ? take_sums(on, *finished) : find_sums(on, &wanted);
  cuda::RowArrays rows;
  rows.m = sums[0].mutable_data_ptr(), rows.z = sums[1].mutable_data_ptr();
  const at::Tensor list = on.keep(at::tensor(wanted, at::kLong).to(query.device(), /*non_blocking=*/true));
  require_launched(cuda::plain_weights(p, rows, list.const_data_ptr<std::int64_t>(), std::ssize(wanted), first_key,
                                       out.mutable_data_ptr(), on.stream));
  return out;
}

}  // namespace isentropic::pytorch
