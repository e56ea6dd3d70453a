// The scale laws of a problem's rows.
#include "attention/row_scales.hpp"

#include "attention/devices.hpp"
#include "attention/passes/backward.hpp"
#include "base/element.hpp"

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

ScaleInput scale_input(const AttentionProblem& problem, const Visibility& visibility, const RowState& state,
                       std::int64_t b, std::int64_t h, std::int64_t i) {
  const Dims dims(problem);
  const QueryPlace place = visibility.place(b, i);
  const std::int64_t visible = state.visible.present() ? state.visible.values<std::int64_t>()[dims.row(b, h, i)] : 0;
  return {visible, dims.d, place.position - place.document.begin, h};
}

RowState row_scales(const AttentionProblem& problem) {
  const Dims dims(problem);
  const Visibility visibility(problem);
  const Scale& scale = problem.scale;
  const Shape shape{dims.batch, dims.heads, dims.n_q};
  RowState state;
  state.lambda = Tensor(statistics_type(problem), shape);
  if (scale.looks_at_n()) {
    state.visible = Tensor(DType::int64, shape);
    for_each_row(problem, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      state.visible.values<std::int64_t>()[dims.row(b, h, i)] = visibility.count(b, h, i);
    });
  }
  if (scale.is_target_entropy()) {
    passes_for(problem).solve_target_entropy(problem, state);
    return state;
  }
  const bool per_row = scale.is_per_row();
  for_each_row(problem, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    const View& given = scale.rows();
    const double lambda = per_row ? element(given, broadcast_offset(given, b, h, i))
                                  : scale.lambda(scale_input(problem, visibility, state, b, h, i));
    store(state.lambda, dims.row(b, h, i), 1, &lambda);
  });
  return state;
}

std::vector<Tensor> scale_parameter_gradients(const AttentionProblem& problem, const RowState& state,
                                              const Tensor& lambda_gradient) {
  const Dims dims(problem);
  const Visibility visibility(problem);
  const std::vector<double> rows = lambda_gradient.to_doubles();
  std::vector<Tensor> out;
  for (int parameter = 0; parameter < problem.scale.learnable(); ++parameter)
    out.push_back(sum_by_head(dims, statistics_type(problem), [&](std::int64_t row) {
      const std::int64_t i = row % dims.n_q, h = row / dims.n_q % dims.heads, b = row / dims.n_q / dims.heads;
      return rows[row] * problem.scale.derivative(parameter, scale_input(problem, visibility, state, b, h, i));
    }));
  return out;
}

}  // namespace isentropic
