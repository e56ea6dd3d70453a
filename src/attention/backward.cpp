// The backward pass: the constants it needs from finished rows, then the device's sweep.
#include "attention/passes/backward.hpp"

#include "attention/devices.hpp"
#include "attention/passes/row_constants.hpp"
#include "attention/problem/validate.hpp"
#include "attention/row_scales.hpp"
#include "base/element.hpp"

namespace isentropic {
namespace {

bool is_straight_through(const ScoreMap& map) { return map.sample() == GumbelSample::straight_through; }

// D = sum_c gO_c O_c for every row. A straight-through sample returns the chosen value, but its gradient is that of the
// relaxed weights, so their output is computed here.
std::vector<double> output_products(const AttentionProblem& problem, const AttentionResult& forward,
                                    const View& upstream) {
  const Dims dims(problem);
  std::vector<double> products(dims.rows(), 0.0);
  if (!upstream.present()) return products;
  if (!forward.output.present())
    throw Error("forward result output", "absent", "that of attention(), for an upstream gradient of the output");
  Tensor relaxed;
  if (is_straight_through(problem.map)) {
    AttentionProblem soft = problem;
    soft.map = ScoreMap::gumbel(problem.map.tau(), problem.map.seed());
    soft.statistics = Statistics::none();
    relaxed = passes_for(problem).softmax_forward(soft, forward.rows, OutputUse::compute).output;
  }
  const Tensor& output = relaxed.present() ? relaxed : forward.output;
  std::vector<double> out(dims.d_v), gradient(dims.d_v);
  for (std::int64_t row = 0; row < dims.rows(); ++row) {
    const std::int64_t i = row % dims.n_q, h = row / dims.n_q % dims.heads, b = row / dims.n_q / dims.heads;
    load(output.view(), row * dims.d_v, dims.d_v, out.data());
    load(upstream, b * upstream.stride[0] + h * upstream.stride[1] + i * upstream.stride[2], dims.d_v, gradient.data());
    products[row] = contained_dot(gradient.data(), out.data(), dims.d_v);
  }
  return products;
}

// With implicit gradients the solved lambda moves with the scores so that H stays constant:
// d lambda / d r_j = -p_j (s_j - E) / Var(r). This adds another multiple of p (s - E) to dS, with the factor
// -lambda dlambda / V.
void add_implicit_term(const AttentionProblem& problem, const AttentionResult& forward,
                       const AttentionUpstream& upstream, std::vector<RowConstants>& constants) {
  const AttentionGradients plain =
      passes_for(problem).softmax_backward(problem, forward.rows, constants, upstream, {}, BiasGradient::skip);
  const std::vector<double> lambda_gradient = plain.lambda.to_doubles();
  for (std::size_t row = 0; row < constants.size(); ++row) {
    const double variance = score_variance(forward.rows.record(row));
    if (forward.rows.solution(row) != TargetEntropyStatus::solved || !(variance > 0)) continue;
    constants[row].a1 -= lambda_gradient[row] * forward.rows.scale(row) / variance;
  }
}

std::vector<std::int64_t> chosen_keys(const AttentionProblem& problem, const AttentionResult& forward) {
  if (!is_straight_through(problem.map)) return {};
  const std::span<const std::int64_t> chosen = forward.rows.a.values<std::int64_t>();
  return {chosen.begin(), chosen.end()};
}

}  // namespace

std::vector<RowConstants> attention_row_constants(const AttentionProblem& problem, const AttentionResult& forward,
                                                  const AttentionUpstream& upstream) {
  validate(problem, upstream.output.present() ? ValueUse::required : ValueUse::ignored);
  validate(problem, forward);
  validate(problem, upstream);
  if (!problem.map.is_softmax()) throw Error("row constants map", problem.map.name(), "softmax, gumbel or top_k");
  std::vector<RowConstants> constants =
      row_constants(problem, forward, upstream, output_products(problem, forward, upstream.output));
  const bool implicit =
      problem.scale.is_target_entropy() && problem.scale.gradient() == TargetEntropyGradient::implicit;
  if (implicit) {
    if (forward.rows.moments() != MomentSet::all)
      throw Error("implicit gradient", "wanted", "a forward pass that computed score_variance");
    add_implicit_term(problem, forward, upstream, constants);
  }
  return constants;
}

AttentionGradients attention_backward(const AttentionProblem& problem, const AttentionResult& forward,
                                      const AttentionUpstream& upstream, BiasGradient bias) {
  const Passes& passes = passes_for(problem);
  std::vector<RowConstants> constants;
  if (problem.map.is_softmax()) {
    constants = attention_row_constants(problem, forward, upstream);
  } else {
    validate(problem);
    validate(problem, forward);
    validate(problem, upstream);
  }
  AttentionGradients gradients =
      problem.map.streams()
          ? passes.softmax_backward(problem, forward.rows, constants, upstream, chosen_keys(problem, forward), bias)
          : passes.whole_rows_backward(problem, forward, constants, upstream, bias);
  gradients.scale_parameters = scale_parameter_gradients(problem, forward.rows, gradients.lambda);
  if (problem.sink)
    gradients.sink =
        sum_by_head(Dims(problem), statistics_type(problem), [&](std::int64_t row) { return constants[row].sink; });
  return gradients;
}

AttentionGradients attention_backward(const AttentionProblem& shard, const RowState& rows,
                                      const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                      BiasGradient bias) {
  validate(shard, upstream.output.present() ? ValueUse::required : ValueUse::ignored);
  validate(shard, upstream);
  require_streaming_map(shard, "sharded backward");
  validate(shard, rows);
  const std::int64_t count = Dims(shard).rows();
  if (std::ssize(constants) != count)
    throw Error("row constants", std::to_string(constants.size()), std::to_string(count) + ", one for each row");
  AttentionGradients gradients = passes_for(shard).softmax_backward(shard, rows, constants, upstream, {}, bias);
  gradients.scale_parameters = scale_parameter_gradients(shard, rows, gradients.lambda);
  return gradients;
}

}  // namespace isentropic
