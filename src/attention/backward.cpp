#include "attention/backward.hpp"

#include <cmath>

#include "attention/cpu/passes.hpp"
#include "attention/row_scales.hpp"
#include "attention/statistics_sheet.hpp"
#include "attention/validate.hpp"
#include "tensor/element.hpp"

namespace isentropic {
namespace {

bool is_straight_through(const ScoreMap& map) { return map.sample() == GumbelSample::straight_through; }

double upstream_value(const View& view, std::int64_t b, std::int64_t h, std::int64_t i) {
  return view.present() ? element(view, b * view.stride[0] + h * view.stride[1] + i * view.stride[2]) : 0.0;
}

// D = sum_c gO_c O_c of every row. A straight-through sample returns the chosen value, but its gradient is that of
// the relaxed weights: their output is formed here.
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
    relaxed = softmax_forward(soft, forward.scales, OutputUse::compute).output;
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

void require_moments(const AttentionResult& forward, const AttentionUpstream& upstream) {
  const auto require = [&](const View& view, const char* argument, MomentSet needed, const char* statistic) {
    if (view.present() && forward.moments < needed)
      throw Error(argument, "given", std::string("a forward pass that computed ") + statistic);
  };
  require(upstream.entropy, "upstream entropy", MomentSet::entropy, "entropy");
  require(upstream.mean_score, "upstream mean_score", MomentSet::entropy, "mean_score");
  require(upstream.score_variance, "upstream score_variance", MomentSet::all, "score_variance");
  require(upstream.collision, "upstream collision", MomentSet::all, "collision");
}

// Under implicit gradients the solved lambda moves with the scores so that H stays: d lambda / d r_j =
// -p_j (s_j - E) / Var(r). That is one more multiple of p (s - E) in dS, with the factor -lambda dlambda / V.
void add_implicit_term(const AttentionProblem& problem, const AttentionResult& forward,
                       const AttentionUpstream& upstream, std::vector<RowConstants>& constants) {
  const AttentionGradients plain =
      softmax_backward(problem, forward.scales, constants, upstream, {}, BiasGradient::skip);
  const std::vector<double> lambda_gradient = plain.lambda.to_doubles();
  for (std::size_t row = 0; row < constants.size(); ++row) {
    const double variance = score_variance(forward.records[row]);
    if (forward.scales.status[row] != WantedEntropyStatus::solved || !(variance > 0)) continue;
    constants[row].a1 -= lambda_gradient[row] * forward.scales.lambda[row] / variance;
  }
}

std::vector<std::int64_t> chosen_keys(const AttentionProblem& problem, const AttentionResult& forward) {
  std::vector<std::int64_t> chosen;
  if (is_straight_through(problem.map))
    for (const SoftmaxRecord<double>& record : forward.records) chosen.push_back(record.a);
  return chosen;
}

}  // namespace

std::vector<RowConstants> attention_row_constants(const AttentionProblem& problem, const AttentionResult& forward,
                                                  const AttentionUpstream& upstream) {
  validate(problem, upstream.output.present() ? ValueUse::required : ValueUse::ignored);
  validate(problem, forward);
  validate(problem, upstream);
  if (!problem.map.is_softmax()) throw Error("row constants map", problem.map.name(), "softmax, gumbel or top_k");
  require_moments(forward, upstream);
  const Dims dims(problem);
  const std::vector<double> products = output_products(problem, forward, upstream.output);
  std::vector<RowConstants> constants(dims.rows());
  for (std::int64_t row = 0; row < dims.rows(); ++row) {
    const std::int64_t i = row % dims.n_q, h = row / dims.n_q % dims.heads, b = row / dims.n_q / dims.heads;
    const SoftmaxRecord<double>& keys = forward.records[row];
    RowConstants& c = constants[row];
    const double total = log_partition(with_sink(problem, h, keys));
    const double gL = upstream_value(upstream.log_partition, b, h, i), gH = upstream_value(upstream.entropy, b, h, i);
    const double gE = upstream_value(upstream.mean_score, b, h, i);
    const double gV = upstream_value(upstream.score_variance, b, h, i);
    const double gC = upstream_value(upstream.collision, b, h, i);
    c.max_score = keys.m;
    c.log_partition = keys.empty() ? 0.0 : std::log(keys.sums.z);
    c.mean_score = keys.empty() ? 0.0 : keys.sums.u / keys.sums.z;
    c.gate = problem.sink ? std::exp(log_partition(keys) - total) : 1.0;
    c.base = contained_product(gL - products[row], c.gate) + gE - contained_product(gV, score_variance(keys)) -
             contained_product(2 * gC, collision(keys));
    c.a1 = gE - gH + 2 * gV;
    c.a2 = gV;
    c.a3 = 2 * gC;
    if (problem.sink) c.sink = contained_product(gL - products[row], std::exp((*problem.sink)[h] - total));
  }
  const bool implicit =
      problem.scale.law() == Scale::Law::wanted_entropy && problem.scale.gradient() == WantedEntropyGradient::implicit;
  if (implicit) {
    if (forward.moments != MomentSet::all)
      throw Error("implicit gradient", "wanted", "a forward pass that computed score_variance");
    add_implicit_term(problem, forward, upstream, constants);
  }
  return constants;
}

AttentionGradients allocate_gradients(const AttentionProblem& problem) {
  const Dims dims(problem);
  AttentionGradients out;
  out.query = Tensor(problem.query.type, problem.query.shape);
  out.key = Tensor(problem.key.type, problem.key.shape);
  if (problem.value.present()) out.value = Tensor(problem.value.type, problem.value.shape);
  out.lambda = Tensor(statistics_type(problem), {dims.batch, dims.heads, dims.n_q});
  return out;
}

std::vector<Tensor> scale_parameter_gradients(const AttentionProblem& problem, const RowScales& scales,
                                              const Tensor& lambda_gradient) {
  const Dims dims(problem);
  const Visibility visibility(problem);
  const std::vector<double> rows = lambda_gradient.to_doubles();
  std::vector<Tensor> out;
  for (int parameter = 0; parameter < problem.scale.learnable(); ++parameter)
    out.push_back(sum_by_head(dims, statistics_type(problem), [&](std::int64_t row) {
      const std::int64_t i = row % dims.n_q, h = row / dims.n_q % dims.heads, b = row / dims.n_q / dims.heads;
      return rows[row] * problem.scale.derivative(parameter, scale_row(problem, visibility, scales, b, h, i));
    }));
  return out;
}

AttentionGradients attention_backward(const AttentionProblem& problem, const AttentionResult& forward,
                                      const AttentionUpstream& upstream, BiasGradient bias) {
  std::vector<RowConstants> constants;
  if (problem.map.is_softmax()) {
    constants = attention_row_constants(problem, forward, upstream);
  } else {
    validate(problem);
    validate(problem, forward);
    validate(problem, upstream);
  }
  AttentionGradients gradients = problem.map.streams() ? softmax_backward(problem, forward.scales, constants, upstream,
                                                                          chosen_keys(problem, forward), bias)
                                                       : rows_backward(problem, forward, constants, upstream, bias);
  gradients.scale_parameters = scale_parameter_gradients(problem, forward.scales, gradients.lambda);
  if (problem.sink)
    gradients.sink =
        sum_by_head(Dims(problem), statistics_type(problem), [&](std::int64_t row) { return constants[row].sink; });
  return gradients;
}

AttentionGradients attention_backward(const AttentionProblem& shard, const RowScales& scales,
                                      const std::vector<RowConstants>& constants, const AttentionUpstream& upstream,
                                      BiasGradient bias) {
  validate(shard, upstream.output.present() ? ValueUse::required : ValueUse::ignored);
  validate(shard, upstream);
  require_streaming_map(shard, "sharded backward");
  const auto rows = static_cast<std::size_t>(Dims(shard).rows());
  if (constants.size() != rows || scales.lambda.size() != rows)
    throw Error("row constants", std::to_string(constants.size()), std::to_string(rows) + ", one for each row");
  if (shard.scale.looks_at_n() && scales.visible.size() != rows)
    throw Error("row scales visible", std::to_string(scales.visible.size()),
                std::to_string(rows) + ", one for each row");
  AttentionGradients gradients = softmax_backward(shard, scales, constants, upstream, {}, bias);
  gradients.scale_parameters = scale_parameter_gradients(shard, scales, gradients.lambda);
  return gradients;
}

}  // namespace isentropic
