// From records and unnormalised outputs to results: the end of the streaming pass, and of a merge of partial ones.
#include <cmath>

#include "attention/cpu/passes.hpp"
#include "attention/cpu/softmax_forward.hpp"
#include "attention/statistics_sheet.hpp"
#include "attention/validate.hpp"

namespace isentropic {
namespace {

// e^{m - L}: what turns sums relative to m into weights of the output; 0 for a row without keys.
double output_factor(const AttentionProblem& problem, std::int64_t head, const SoftmaxRecord<double>& keys) {
  if (keys.empty()) return 0;
  const SoftmaxRecord<double> total = with_sink(problem, head, keys);
  return std::exp(keys.m - total.m) / total.sums.z;
}

// The value of the key a straight-through sample chose.
template <class T>
void take_chosen_value(const ScoreContext& context, const RowsResult<T>& rows, std::int64_t r, T* out) {
  const Dims& dims = context.dims;
  std::fill_n(out, dims.d_v, T(0));
  if (rows.records[r].a < 0) return;
  const View& value = context.problem.value;
  load(value,
       rows.b * value.stride[0] + dims.kv_head(rows.head(r)) * value.stride[1] + rows.records[r].a * value.stride[2],
       dims.d_v, out);
}

template <class T>
void finish_rows(const ScoreContext& context, RowsResult<T>& rows, StatisticsSheet& sheet, AttentionResult& result) {
  const AttentionProblem& problem = context.problem;
  const Dims& dims = context.dims;
  const bool straight_through = problem.map.sample() == GumbelSample::straight_through;
  for (std::int64_t r = 0; r < rows.rows(); ++r) {
    const std::int64_t h = rows.head(r), i = rows.query(r), row = dims.row(rows.b, h, i);
    result.records[row] = rows.records[r];
    sheet.write(row, h, rows.records[r]);
    if (!rows.groups.empty()) sheet.write(row, rows.groups[r], context.visibility.place(rows.b, i).position);
    if (rows.output.empty()) continue;
    T* out = rows.output.data() + r * rows.output_stride;
    const T factor = static_cast<T>(output_factor(problem, h, rows.records[r]));
    for (std::int64_t c = 0; c < dims.d_v; ++c) out[c] *= factor;
    if (straight_through) take_chosen_value(context, rows, r, out);
    store(result.output, row * dims.d_v, dims.d_v, out);
  }
}

}  // namespace

AttentionResult softmax_forward(const AttentionProblem& problem, RowScales scales, OutputUse output) {
  StatisticsSheet sheet(problem);
  const SoftmaxPass pass{moments_for(sheet.asked()), output == OutputUse::compute, sheet.asked().wants_groups()};
  AttentionResult result = empty_result(problem, std::move(scales), output);
  result.records.resize(Dims(problem).rows());
  result.moments = pass.moments;
  const ScoreContext context(problem, result.scales.lambda, Factors::sixteen_bits_too);
  with_compute_type(problem.query.type, [&]<class T>() {
    for_each_rows<T>(context, pass, [&](RowsResult<T>& rows) { finish_rows(context, rows, sheet, result); });
  });
  result.statistics = sheet.take();
  return result;
}

Partial softmax_partial(const AttentionProblem& problem, RowScales scales) {
  const Dims dims(problem);
  const Statistics asked = StatisticsSheet(problem).asked();
  Partial partial{dims.batch, dims.heads, dims.n_q, dims.d_v,           problem.query.type,
                  {},         {},         {},       moments_for(asked), std::move(scales)};
  partial.records.resize(dims.rows());
  partial.output.resize(dims.rows() * dims.d_v);
  if (asked.wants_groups()) partial.groups.resize(dims.rows());
  const ScoreContext context(problem, partial.scales.lambda, Factors::sixteen_bits_too);
  const SoftmaxPass pass{partial.moments, true, asked.wants_groups()};
  with_compute_type(problem.query.type, [&]<class T>() {
    for_each_rows<T>(context, pass, [&](RowsResult<T>& rows) {
      for (std::int64_t r = 0; r < rows.rows(); ++r) {
        const std::int64_t row = dims.row(rows.b, rows.head(r), rows.query(r));
        partial.records[row] = rows.records[r];
        if (pass.groups) partial.groups[row] = rows.groups[r];
        std::copy_n(rows.output.data() + r * rows.output_stride, dims.d_v, partial.output.data() + row * dims.d_v);
      }
    });
  });
  return partial;
}

Partial merge(const Partial& x, const Partial& y) {
  if (x.records.empty()) return y;
  if (y.records.empty()) return x;
  if (x.batch != y.batch || x.heads != y.heads || x.n_q != y.n_q || x.d_v != y.d_v ||
      x.groups.size() != y.groups.size())
    throw Error("partial result", "of another size", "two partial results of the same rows and statistics");
  if (x.moments != y.moments) throw Error("partial result moments", "different", "two passes with the same statistics");
  Partial out = x;
  for (std::size_t row = 0; row < x.records.size(); ++row) {
    out.records[row] = merge(x.records[row], y.records[row]);
    const auto factor = [&](const SoftmaxRecord<double>& part) {
      return part.empty() ? 0.0 : std::exp(part.m - out.records[row].m);
    };
    const double x_factor = factor(x.records[row]), y_factor = factor(y.records[row]);
    for (std::int64_t c = 0; c < x.d_v; ++c) {
      const std::size_t place = row * x.d_v + c;
      out.output[place] = x.output[place] * x_factor + y.output[place] * y_factor;
    }
    if (!x.groups.empty()) out.groups[row] = merge(x.groups[row], y.groups[row]);
  }
  return out;
}

AttentionResult finish(const Partial& partial, const AttentionProblem& problem) {
  validate(problem);
  const Dims dims(problem);
  const Shape met{partial.batch, partial.heads, partial.n_q, partial.d_v};
  const Shape expected{dims.batch, dims.heads, dims.n_q, dims.d_v};
  if (met != expected) throw Error("partial result shape", to_string(met), to_string(expected) + ", as the problem");
  StatisticsSheet sheet(problem);
  if (moments_for(sheet.asked()) > partial.moments ||
      (sheet.asked().wants_groups() && partial.groups.empty() && dims.rows() > 0))
    throw Error("partial result statistics", "fewer", "those the problem asks for");
  AttentionResult result = empty_result(problem, partial.scales, OutputUse::compute);
  result.records.resize(dims.rows());
  result.moments = partial.moments;
  const ScoreContext context(problem, result.scales.lambda, Factors::sixteen_bits_too);
  for (std::int64_t row = 0; row < dims.rows(); ++row) {
    const std::int64_t i = row % dims.n_q, h = row / dims.n_q % dims.heads, b = row / dims.n_q / dims.heads;
    RowsResult<double> rows{b, h, 1, i, i + 1, {partial.records[row]}, {}, {}, dims.d_v};
    if (!partial.groups.empty()) rows.groups = {partial.groups[row]};
    rows.output.assign(partial.output.begin() + row * dims.d_v, partial.output.begin() + (row + 1) * dims.d_v);
    finish_rows(context, rows, sheet, result);
  }
  result.statistics = sheet.take();
  return result;
}

}  // namespace isentropic
