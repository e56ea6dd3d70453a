// The forward pass of maps that stream: results, or partial results to merge.
#include "attention/cpu/streaming/query_blocks.hpp"
#include "attention/cpu/streaming/streaming.hpp"
#include "attention/passes/row_finisher.hpp"
#include "attention/problem/validate.hpp"

namespace isentropic {

AttentionResult softmax_forward(const AttentionProblem& problem, RowState state, OutputUse output) {
  AttentionResult result = empty_result(problem, std::move(state), output);
  const ScoreContext context(problem, result.rows.lambda, Factors::sixteen_bits_too);
  const Statistics asked = available_statistics(problem);
  const SoftmaxPass pass{moments_for(asked), output == OutputUse::compute, asked.wants_groups()};
  RowFinisher finisher(problem, context.visibility, pass.moments, result);
  with_compute_type(problem.query.type, [&]<class T>() {
    for_each_query_block<T>(context, pass, [&](QueryBlockResult<T>& rows) {
      for (std::int64_t r = 0; r < rows.rows(); ++r)
        finisher.finish(rows.b, rows.head(r), rows.query(r), rows.records[r], rows.groups_of(r), rows.sum(r));
    });
  });
  finisher.take_statistics();
  return result;
}

Partial softmax_partial(const AttentionProblem& problem, RowState state) {
  const Dims dims(problem);
  const Statistics asked = available_statistics(problem);
  Partial partial{dims.batch, dims.heads, dims.n_q, dims.d_v, problem.query.type, std::move(state), {}, {}};
  partial.rows.allocate_records(moments_for(asked));
  partial.output = Tensor(statistics_type(problem), {dims.batch, dims.heads, dims.n_q, dims.d_v});
  if (asked.wants_groups()) partial.groups.resize(dims.rows());
  const ScoreContext context(problem, partial.rows.lambda, Factors::sixteen_bits_too);
  const SoftmaxPass pass{partial.rows.moments(), true, asked.wants_groups()};
  with_compute_type(problem.query.type, [&]<class T>() {
    for_each_query_block<T>(context, pass, [&](QueryBlockResult<T>& rows) {
      for (std::int64_t r = 0; r < rows.rows(); ++r) {
        const std::int64_t row = dims.row(rows.b, rows.head(r), rows.query(r));
        partial.rows.set_record(row, rows.records[r]);
        if (pass.groups) partial.groups[row] = rows.groups[r];
        std::copy_n(rows.sum(r), dims.d_v, partial.output.values<T>().data() + row * dims.d_v);
      }
    });
  });
  return partial;
}

}  // namespace isentropic
