// Partial attention on the CPU, and its merge on any device.
#include "pytorch/partial.hpp"

#include <torch/library.h>

#include "pytorch/cpu_call.hpp"
#include "pytorch/cuda_kernels.hpp"
#include "pytorch/errors.hpp"
#include "pytorch/row_state.hpp"

namespace isentropic::pytorch {
namespace {

// Numbers per group of keys: a record and the sum of positions (isentropic/key_groups.hpp).
constexpr std::int64_t kGroupNumbers = kRecord + 1;

at::Tensor pack_groups(const AttentionProblem& problem, const std::vector<KeyGroupsRecord>& groups) {
  if (groups.empty()) return at::empty({0}, at::kDouble);
  std::vector<SoftmaxRecord<double>> records;
  std::vector<double> locations;
  for (const KeyGroupsRecord& row : groups)
    for (const LocatedRecord& group : row.group) records.push_back(group.record), locations.push_back(group.location);
  const Shape& q = problem.query.shape;
  return at::cat({pack_records(records), at::tensor(locations, at::kDouble).unsqueeze(1)}, 1)
      .reshape({q[0], q[1], q[2], kKeyGroups, kGroupNumbers});
}

std::vector<KeyGroupsRecord> unpack_groups(const at::Tensor& packed) {
  const at::Tensor rows = packed.reshape({-1, kGroupNumbers});
  const std::vector<SoftmaxRecord<double>> records = unpack_records(rows.narrow(1, 0, kRecord));
  const at::Tensor locations = rows.select(1, kRecord).contiguous();
  std::vector<KeyGroupsRecord> out(records.size() / kKeyGroups);
  for (std::size_t i = 0; i < records.size(); ++i)
    out[i / kKeyGroups].group[i % kKeyGroups] = {records[i], locations.const_data_ptr<double>()[i]};
  return out;
}

PartialTensors partial_cpu(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                           const at::Tensor& value, at::TensorList terms) {
  return with_python_errors([&] {
    const CpuCall on(text, query, key, value, terms);
    Partial part = isentropic::attention_partial(on.problem);
    AttentionResult result;
    result.rows = std::move(part.rows);
    auto [rows, row_counts] = pack_rows(on.problem, result);
    return PartialTensors(to_torch(std::move(part.output)), std::move(rows), std::move(row_counts),
                          pack_groups(on.problem, part.groups));
  });
}

Forward finish_cpu(c10::string_view text, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                   at::TensorList terms, const at::Tensor& output, const at::Tensor& rows, const at::Tensor& row_counts,
                   const at::Tensor& groups) {
  return with_python_errors([&] {
    const CpuCall on(text, query, key, value, terms);
    const AttentionProblem& problem = on.problem;
    const Dims dims(problem);
    Partial part{dims.batch, dims.heads, dims.n_q, dims.d_v, problem.query.type, {}, from_torch(output), {}};
    part.rows = unpack_rows(problem, rows, row_counts, at::empty({0}), at::empty({0})).rows;
    if (groups.numel() > 0) part.groups = unpack_groups(groups);
    AttentionResult result = isentropic::finish(part, problem);
    auto [statistics, measures, counts] = stack_statistics(problem, result.statistics);
    return Forward(in_order_of(query, to_torch(std::move(result.output))), std::move(statistics), std::move(measures),
                   std::move(counts), rows, row_counts, at::empty({0}, at::kLong));
  });
}

PartialTensors partial_cuda(c10::string_view text, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, at::TensorList terms) {
  return with_python_errors([&] {
    const CudaKernels* kernels = cuda_kernels();
    std::optional<PartialTensors> found;
    if (kernels) found = kernels->partial(text, query, key, value, terms);
    return found ? *found
                 : moved_to(partial_cpu(text, query.cpu(), key.cpu(), value.cpu(), on_cpu(terms)), query.device());
  });
}

Forward finish_cuda(c10::string_view text, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                    at::TensorList terms, const at::Tensor& output, const at::Tensor& rows,
                    const at::Tensor& row_counts, const at::Tensor& groups) {
  return with_python_errors([&] {
    const CudaKernels* kernels = cuda_kernels();
    std::optional<Forward> found;
    if (kernels) found = kernels->finish(text, query, key, value, terms, output, rows, row_counts, groups);
    return found ? *found
                 : moved_to(finish_cpu(text, query.cpu(), key.cpu(), value.cpu(), on_cpu(terms), output.cpu(),
                                       rows.cpu(), row_counts.cpu(), groups.cpu()),
                            query.device());
  });
}

// ---- The merge of softmax_record.hpp, on arrays ----

// The factor that rebases a part's sums to the larger maximum, and the difference of the maxima.
struct Rebase {
  at::Tensor factor, distance;  // e^{m_part - m}, m_part - m; for a part without keys 0 and 0

  Rebase(const at::Tensor& part, const at::Tensor& all) {
    const at::Tensor empty = part.isneginf();
    distance = (part - all).masked_fill_(empty, 0);
    factor = distance.exp().masked_fill_(empty, 0);
  }

  // The rebased sums z, u, w, c of a part, [count, ...]: one, two or four of them.
  at::Tensor sums(const at::Tensor& of) const {
    std::vector<at::Tensor> out = {factor * of[0]};
    if (of.size(0) > 1) out.push_back(factor * (of[1] + distance * of[0]));
    if (of.size(0) > 2) {
      out.push_back(factor * (of[2] + distance * (2 * of[1] + distance * of[0])));
      out.push_back(factor.square() * of[3]);
    }
    return at::stack(out);
  }
};

at::Tensor merge_groups(const at::Tensor& x, const at::Tensor& y) {
  if (x.numel() == 0) return x;
  at::Tensor out = x.clone();
  std::vector<KeyGroupsRecord> mine = unpack_groups(x);
  const std::vector<KeyGroupsRecord> other = unpack_groups(y);
  auto* numbers = out.mutable_data_ptr<double>();
  for (std::size_t row = 0; row < mine.size(); ++row)
    for (const LocatedRecord& group : merge(mine[row], other[row]).group) {
      const SoftmaxRecord<double>& x_ = group.record;
      for (const double number : {x_.m, x_.sums.z, x_.sums.u, x_.sums.w, x_.sums.c, static_cast<double>(x_.k),
                                  static_cast<double>(x_.a), group.location})
        *numbers++ = number;
    }
  return out;
}

PartialTensors merge_parts(const at::Tensor& output, const at::Tensor& rows, const at::Tensor& row_counts,
                           const at::Tensor& groups, const at::Tensor& other_output, const at::Tensor& other_rows,
                           const at::Tensor& other_counts, const at::Tensor& other_groups) {
  TORCH_CHECK_VALUE(rows.sizes() == other_rows.sizes() && output.sizes() == other_output.sizes(),
                    "partial results are of other sizes; expected two of the same rows and statistics");
  const at::Tensor x = rows[kMaximumField], y = other_rows[kMaximumField], m = at::maximum(x, y);
  const Rebase mine(x, m), theirs(y, m);
  const at::Tensor sums = mine.sums(rows.slice(0, kSumFields)) + theirs.sums(other_rows.slice(0, kSumFields));
  // Counts add up; if maxima are equal, the lower index wins.
  const at::Tensor a = row_counts[1], b = other_counts[1];
  const at::Tensor takes_other =
      (y > x).logical_or((y == x).logical_and(b >= 0).logical_and((b < a).logical_or(a < 0)));
  const at::Tensor counts =
      at::stack({row_counts[0] + other_counts[0], at::where(takes_other, b, a), row_counts[2], row_counts[3]});
  return {mine.factor.unsqueeze(-1) * output + theirs.factor.unsqueeze(-1) * other_output,
          at::cat({rows.slice(0, 0, kMaximumField), m.unsqueeze(0), sums}), counts, merge_groups(groups, other_groups)};
}

template <class Operator>
auto operation(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Operator>();
}

}  // namespace

PartialTensors attention_partial(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value, at::TensorList terms) {
  static const auto call = operation<PartialOperator>("isentropic::attention_partial");
  return call.call(problem, query, key, value, terms);
}

PartialTensors attention_merge(const at::Tensor& output, const at::Tensor& rows, const at::Tensor& row_counts,
                               const at::Tensor& groups, const at::Tensor& other_output, const at::Tensor& other_rows,
                               const at::Tensor& other_counts, const at::Tensor& other_groups) {
  return merge_parts(output, rows, row_counts, groups, other_output, other_rows, other_counts, other_groups);
}

Forward attention_finish(c10::string_view problem, const at::Tensor& query, const at::Tensor& key,
                         const at::Tensor& value, at::TensorList terms, const at::Tensor& output,
                         const at::Tensor& rows, const at::Tensor& row_counts, const at::Tensor& groups) {
  static const auto call = operation<FinishOperator>("isentropic::attention_finish");
  return call.call(problem, query, key, value, terms, output, rows, row_counts, groups);
}

TORCH_LIBRARY_FRAGMENT(isentropic, library) {
  library.def(
      "attention_partial(str problem, Tensor query, Tensor key, Tensor value, Tensor[] terms)"
      " -> (Tensor output, Tensor rows, Tensor row_counts, Tensor groups)");
  library.def(
      "attention_merge(Tensor output, Tensor rows, Tensor row_counts, Tensor groups, Tensor other_output,"
      " Tensor other_rows, Tensor other_counts, Tensor other_groups)"
      " -> (Tensor output, Tensor rows, Tensor row_counts, Tensor groups)");
  library.def(
      "attention_finish(str problem, Tensor query, Tensor key, Tensor value, Tensor[] terms, Tensor output,"
      " Tensor rows, Tensor row_counts, Tensor groups)"
      " -> (Tensor output, Tensor statistics, Tensor measures, Tensor counts, Tensor rows,"
      " Tensor row_counts, Tensor selected)");
}

TORCH_LIBRARY_IMPL(isentropic, CPU, library) {
  library.impl("attention_partial", partial_cpu);
  library.impl("attention_finish", finish_cpu);
}
TORCH_LIBRARY_IMPL(isentropic, CUDA, library) {
  library.impl("attention_partial", partial_cuda);
  library.impl("attention_finish", finish_cuda);
}
TORCH_LIBRARY_IMPL(isentropic, CompositeExplicitAutograd, library) { library.impl("attention_merge", merge_parts); }

}  // namespace isentropic::pytorch
