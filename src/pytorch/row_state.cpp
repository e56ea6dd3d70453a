// Records and scales packed into tensors, and back.
#include "pytorch/row_state.hpp"

#include <cstring>

#include "attention/passes/statistics_writer.hpp"
#include "attention/problem/dims.hpp"
#include "attention/problem/validate.hpp"
#include "pytorch/bound_problem.hpp"
#include "pytorch/tensors.hpp"

namespace isentropic::pytorch {
namespace {

void pack(const SoftmaxRecord<double>& x, double* out) {
  const double numbers[kRecord] = {
      x.m, x.sums.z, x.sums.u, x.sums.w, x.sums.c, static_cast<double>(x.k), static_cast<double>(x.a)};
  std::copy(std::begin(numbers), std::end(numbers), out);
}

SoftmaxRecord<double> unpack(const double* in) {
  return {in[0], {in[1], in[2], in[3], in[4]}, static_cast<std::int64_t>(in[5]), static_cast<std::int64_t>(in[6])};
}

Tensor copy_of(const at::Tensor& tensor) {
  const at::Tensor source = tensor.contiguous();
  Tensor out(type_of(source, "saved tensor"), source.sizes().vec());
  std::memcpy(const_cast<void*>(out.view().data), source.const_data_ptr(), source.nbytes());
  return out;
}

}  // namespace

at::Tensor pack_records(const std::vector<SoftmaxRecord<double>>& records) {
  at::Tensor packed = at::empty({static_cast<std::int64_t>(records.size()), kRecord}, at::kDouble);
  double* out = packed.mutable_data_ptr<double>();
  for (std::size_t row = 0; row < records.size(); ++row, out += kRecord) pack(records[row], out);
  return packed;
}

std::vector<SoftmaxRecord<double>> unpack_records(const at::Tensor& packed) {
  const at::Tensor rows = packed.contiguous();
  const double* in = rows.const_data_ptr<double>();
  std::vector<SoftmaxRecord<double>> records(static_cast<std::size_t>(rows.size(0)));
  for (std::size_t row = 0; row < records.size(); ++row, in += kRecord) records[row] = unpack(in);
  return records;
}

std::vector<std::string> row_state_names() {
  return {"m", "z", "u", "w", "c", "k", "a", "scale", "visible", "status", "moments"};
}

at::Tensor pack_rows(const AttentionProblem& problem, const AttentionResult& result) {
  const Shape& q = problem.query.shape;
  at::Tensor rows = at::empty({q[0], q[1], q[2], kRowState}, at::kDouble);
  double* out = rows.mutable_data_ptr<double>();
  for (std::size_t row = 0; row < result.scales.lambda.size(); ++row, out += kRowState) {
    pack(result.records.empty() ? SoftmaxRecord<double>() : result.records[row], out);
    out[kRecord] = result.scales.lambda[row];
    out[kRecord + 1] = result.scales.visible.empty() ? -1.0 : static_cast<double>(result.scales.visible[row]);
    out[kRecord + 2] = result.scales.status.empty() ? 0.0 : static_cast<double>(result.scales.status[row]);
    out[kRecord + 3] = static_cast<double>(result.moments);
  }
  return rows;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> stack_statistics(const AttentionProblem& problem,
                                                                RowStatistics& statistics) {
  const StatisticsLayout layout(problem);
  const Shape& q = problem.query.shape;
  const auto stack = [&](const std::vector<Statistic>& which, at::ScalarType type) {
    at::Tensor out = at::empty({static_cast<std::int64_t>(which.size()), q[0], q[1], q[2]}, type);
    for (std::size_t s = 0; s < which.size(); ++s)
      out.select(0, static_cast<std::int64_t>(s)).copy_(to_torch(std::move(statistics[which[s]])));
    return out;
  };
  const at::ScalarType real = scalar_type(statistics_type(problem));
  return {stack(layout.differentiable, real), stack(layout.measured, real), stack(layout.counted, at::kLong)};
}

AttentionResult unpack_rows(const AttentionProblem& problem, const at::Tensor& rows, const at::Tensor& output,
                            const at::Tensor& selected) {
  const at::Tensor packed = rows.contiguous();
  const double* in = packed.const_data_ptr<double>();
  const auto count = static_cast<std::size_t>(packed.numel() / kRowState);
  const bool counted = problem.scale.looks_at_n(), solved = problem.scale.is_target_entropy();
  AttentionResult result;
  result.moments = moments_for(available_statistics(problem));
  for (std::size_t row = 0; row < count; ++row, in += kRowState) {
    result.moments = std::min(result.moments, static_cast<MomentSet>(in[kRecord + 3]));
    if (problem.map.is_softmax()) result.records.push_back(unpack(in));
    result.scales.lambda.push_back(in[kRecord]);
    if (counted) result.scales.visible.push_back(static_cast<std::int64_t>(in[kRecord + 1]));
    if (solved) result.scales.status.push_back(static_cast<TargetEntropyStatus>(in[kRecord + 2]));
  }
  if (output.dim() == 4) result.output = copy_of(output);
  if (problem.map.kind() == ScoreMap::Kind::top_k) result.selected = copy_of(selected);
  return result;
}

}  // namespace isentropic::pytorch
