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

std::int64_t sums_of(MomentSet moments) {
  return moments == MomentSet::all ? 4 : moments == MomentSet::entropy ? 2 : 1;
}

MomentSet moments_of(std::int64_t sums) {
  return sums >= 4 ? MomentSet::all : sums >= 2 ? MomentSet::entropy : MomentSet::partition;
}

// work(pointer to the numbers), of the type they have.
template <class Work>
void with_reals(const at::Tensor& rows, Work work) {
  if (rows.scalar_type() == at::kDouble)
    work(static_cast<double*>(rows.data_ptr()));
  else
    work(static_cast<float*>(rows.data_ptr()));
}

void require_rows(const AttentionProblem& problem, const at::Tensor& rows, const at::Tensor& row_counts) {
  const at::ScalarType real = scalar_type(statistics_type(problem));
  const Shape& q = problem.query.shape;
  const auto require = [&](const char* name, const at::Tensor& tensor, at::ScalarType type) {
    if (tensor.dim() == 4 && tensor.scalar_type() == type && tensor.sizes().slice(1) == at::IntArrayRef(q).slice(0, 3))
      return;
    throw Error(name, std::string(c10::toString(tensor.scalar_type())) + " " + to_string(tensor.sizes().vec()),
                "what the forward pass of this problem returned");
  };
  require("rows", rows, real);
  require("row_counts", row_counts, at::kLong);
  const std::int64_t fields = rows.size(0), sums = fields - kSumFields;
  const bool is_record = sums == 1 || sums == 2 || sums == 4;
  if (row_counts.size(0) != kCounts || (problem.map.is_softmax() ? !is_record : fields != 1))
    throw Error("rows", std::to_string(fields) + " fields and " + std::to_string(row_counts.size(0)) + " counts",
                "what the forward pass of this problem returned");
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

std::int64_t row_fields(const AttentionProblem& problem) {
  if (!problem.map.is_softmax()) return 1;
  return kSumFields + sums_of(moments_for(available_statistics(problem)));
}

std::pair<at::Tensor, at::Tensor> pack_rows(const AttentionProblem& problem, const AttentionResult& result) {
  const Shape& q = problem.query.shape;
  const std::int64_t fields = row_fields(problem), count = q[0] * q[1] * q[2];
  at::Tensor rows = at::empty({fields, q[0], q[1], q[2]}, scalar_type(statistics_type(problem)));
  at::Tensor row_counts = at::empty({kCounts, q[0], q[1], q[2]}, at::kLong);
  auto* counts = row_counts.mutable_data_ptr<std::int64_t>();
  with_reals(rows, [&]<class Real>(Real* reals) {
    for (std::int64_t row = 0; row < count; ++row) {
      const auto place = static_cast<std::size_t>(row);
      const SoftmaxRecord<double> record = result.records.empty() ? SoftmaxRecord<double>() : result.records[place];
      const double numbers[] = {
          result.scales.lambda[place], record.m, record.sums.z, record.sums.u, record.sums.w, record.sums.c};
      for (std::int64_t field = 0; field < fields; ++field)
        reals[field * count + row] = static_cast<Real>(numbers[field]);
      counts[row] = record.k;
      counts[count + row] = record.a;
      counts[2 * count + row] = result.scales.visible.empty() ? -1 : result.scales.visible[place];
      counts[3 * count + row] =
          result.scales.status.empty() ? 0 : static_cast<std::int64_t>(result.scales.status[place]);
    }
  });
  return {std::move(rows), std::move(row_counts)};
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

AttentionResult unpack_rows(const AttentionProblem& problem, const at::Tensor& rows, const at::Tensor& row_counts,
                            const at::Tensor& output, const at::Tensor& selected) {
  const at::Tensor packed = rows.contiguous(), packed_counts = row_counts.contiguous();
  require_rows(problem, packed, packed_counts);
  const std::int64_t fields = packed.size(0), count = packed_counts.numel() / kCounts;
  const auto* counts = packed_counts.const_data_ptr<std::int64_t>();
  const bool counted = problem.scale.looks_at_n(), solved = problem.scale.is_target_entropy();
  AttentionResult result;
  result.moments = moments_for(available_statistics(problem));
  if (problem.map.is_softmax()) result.moments = std::min(result.moments, moments_of(fields - kSumFields));
  with_reals(packed, [&]<class Real>(const Real* reals) {
    for (std::int64_t row = 0; row < count; ++row) {
      const auto number = [&](std::int64_t field) {
        return field < fields ? static_cast<double>(reals[field * count + row]) : 0.0;
      };
      result.scales.lambda.push_back(number(kScaleField));
      if (problem.map.is_softmax())
        result.records.push_back(
            {number(kMaximumField),
             {number(kSumFields), number(kSumFields + 1), number(kSumFields + 2), number(kSumFields + 3)},
             counts[row],
             counts[count + row]});
      if (counted) result.scales.visible.push_back(counts[2 * count + row]);
      if (solved) result.scales.status.push_back(static_cast<TargetEntropyStatus>(counts[3 * count + row]));
    }
  });
  if (output.dim() == 4) result.output = copy_of(output);
  if (problem.map.kind() == ScoreMap::Kind::top_k) result.selected = copy_of(selected);
  return result;
}

}  // namespace isentropic::pytorch
