// Partial results of shards: merged in any order, then finished as a whole row.
#include "attention/passes/row_finisher.hpp"
#include "attention/problem/validate.hpp"
#include "softmax/weighted_sum.hpp"

namespace isentropic {

Partial merge(const Partial& x, const Partial& y) {
  if (!x.rows.has_records()) return y;
  if (!y.rows.has_records()) return x;
  if (x.batch != y.batch || x.heads != y.heads || x.n_q != y.n_q || x.d_v != y.d_v || x.type != y.type ||
      x.groups.size() != y.groups.size())
    throw Error("partial result", "of another size or type", "two partial results of the same rows and statistics");
  if (x.rows.moments() != y.rows.moments())
    throw Error("partial result moments", "different", "two passes with the same statistics");
  Partial out = x;
  with_compute_type(x.type, [&]<class T>() {
    for (std::int64_t row = 0; row < x.rows.rows(); ++row) {
      SoftmaxRecord<double> record = x.rows.record(row);
      merge_weighted_sum(record, out.output.values<T>().data() + row * x.d_v, y.rows.record(row),
                         y.output.values<T>().data() + row * x.d_v, x.d_v);
      out.rows.set_record(row, record);
      if (!x.groups.empty()) out.groups[row] = merge(x.groups[row], y.groups[row]);
    }
  });
  return out;
}

AttentionResult finish(const Partial& partial, const AttentionProblem& problem) {
  validate(problem);
  const Dims dims(problem);
  const Shape met{partial.batch, partial.heads, partial.n_q, partial.d_v};
  const Shape expected{dims.batch, dims.heads, dims.n_q, dims.d_v};
  if (met != expected) throw Error("partial result shape", to_string(met), to_string(expected) + ", as the problem");
  AttentionResult result = empty_result(problem, partial.rows, OutputUse::compute);
  const Visibility visibility(problem);
  RowFinisher finisher(problem, visibility, partial.rows.moments(), result);
  if (moments_for(finisher.asked()) > partial.rows.moments() ||
      (finisher.asked().wants_groups() && partial.groups.empty() && dims.rows() > 0))
    throw Error("partial result statistics", "fewer", "those the problem asks for");
  with_compute_type(partial.type, [&]<class T>() {
    std::vector<T> sum(dims.d_v);
    for (std::int64_t row = 0; row < dims.rows(); ++row) {
      const std::int64_t i = row % dims.n_q, h = row / dims.n_q % dims.heads, b = row / dims.n_q / dims.heads;
      std::copy_n(partial.output.values<T>().data() + row * dims.d_v, dims.d_v, sum.begin());
      finisher.finish(b, h, i, partial.rows.record(row), partial.groups.empty() ? nullptr : &partial.groups[row],
                      sum.data());
    }
  });
  finisher.take_statistics();
  return result;
}

}  // namespace isentropic
