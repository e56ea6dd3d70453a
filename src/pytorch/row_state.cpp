// Records and scales packed into tensors, and back.
#include "pytorch/row_state.hpp"

#include <array>
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

std::int64_t sums_of(MomentSet moments) {
  return moments == MomentSet::all ? 4 : moments == MomentSet::entropy ? 2 : 1;
}

// The fields of rows and of row_counts, in order.
template <class State>
auto real_fields(State& state) {
  return std::array{&state.lambda, &state.m, &state.z, &state.u, &state.w, &state.c};
}
template <class State>
auto count_fields(State& state) {
  return std::array{&state.k, &state.a, &state.visible, &state.status};
}

// Copies a field to its place, or fills with `missing` if it is absent.
void put(at::Tensor place, const Tensor& field, std::int64_t missing) {
  if (field.present())
    std::memcpy(place.mutable_data_ptr(), field.view().data, place.nbytes());
  else
    place.fill_(missing);
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
  at::Tensor rows = at::empty({row_fields(problem), q[0], q[1], q[2]}, scalar_type(statistics_type(problem)));
  at::Tensor row_counts = at::empty({kCounts, q[0], q[1], q[2]}, at::kLong);
  const auto reals = real_fields(result.rows);
  for (std::int64_t field = 0; field < rows.size(0); ++field)
    put(rows[field], *reals[static_cast<std::size_t>(field)], 0);
  const auto counts = count_fields(result.rows);
  constexpr std::int64_t kMissing[] = {0, -1, -1, 0};
  for (std::size_t field = 0; field < counts.size(); ++field)
    put(row_counts[static_cast<std::int64_t>(field)], *counts[field], kMissing[field]);
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
  require_rows(problem, rows, row_counts);
  AttentionResult result;
  const auto reals = real_fields(result.rows);
  for (std::int64_t field = 0; field < rows.size(0); ++field)
    *reals[static_cast<std::size_t>(field)] = from_torch(rows[field]);
  const auto counts = count_fields(result.rows);
  const bool records = problem.map.is_softmax();
  const bool wanted[] = {records, records, problem.scale.looks_at_n(), problem.scale.is_target_entropy()};
  for (std::size_t field = 0; field < counts.size(); ++field)
    if (wanted[field]) *counts[field] = from_torch(row_counts[static_cast<std::int64_t>(field)]);
  if (output.dim() == 4) result.output = from_torch(output);
  if (problem.map.kind() == ScoreMap::Kind::top_k) result.selected = from_torch(selected);
  return result;
}

}  // namespace isentropic::pytorch
