#include "attention/row_scales.hpp"

#include "attention/cpu/wanted_entropy.hpp"
#include "tensor/element.hpp"

namespace isentropic {
namespace {

template <class F>
void for_each_row(const AttentionProblem& problem, F f) {
  const Dims dims(problem);
  executor_of(problem).parallel_for(dims.batch * dims.heads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task)
      for (std::int64_t i = 0; i < dims.n_q; ++i) f(task / dims.heads, task % dims.heads, i);
  });
}

}  // namespace

ScaleRow scale_row(const AttentionProblem& problem, const Visibility& visibility, const RowScales& scales,
                   std::int64_t b, std::int64_t h, std::int64_t i) {
  const Dims dims(problem);
  const RowPlace place = visibility.place(b, i);
  const std::int64_t visible = scales.visible.empty() ? 0 : scales.visible[dims.row(b, h, i)];
  return {visible, dims.d, place.position - place.document.begin, h};
}

RowScales row_scales(const AttentionProblem& problem) {
  const Dims dims(problem);
  const Visibility visibility(problem);
  const Scale& scale = problem.scale;
  RowScales scales;
  scales.lambda.resize(dims.rows());
  if (scale.looks_at_n()) {
    scales.visible.resize(dims.rows());
    for_each_row(problem, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      scales.visible[dims.row(b, h, i)] = visibility.count(b, h, i);
    });
  }
  if (scale.law() == Scale::Law::wanted_entropy) {
    solve_wanted_entropy(problem, scales);
    return scales;
  }
  for_each_row(problem, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    const View& given = scale.rows();
    scales.lambda[dims.row(b, h, i)] = scale.law() == Scale::Law::per_row
                                           ? element(given, broadcast_offset(given, b, h, i))
                                           : scale.lambda(scale_row(problem, visibility, scales, b, h, i));
  });
  return scales;
}

}  // namespace isentropic
