// See isentropic/attention.hpp, above AttentionUpstream, for the formulas.
#include "attention/passes/row_constants.hpp"

#include <cmath>

#include "attention/passes/backward.hpp"
#include "attention/passes/statistics_writer.hpp"

namespace isentropic {
namespace {

double upstream_value(const View& view, std::int64_t b, std::int64_t h, std::int64_t i) {
  return view.present() ? element(view, b * view.stride[0] + h * view.stride[1] + i * view.stride[2]) : 0.0;
}

void require_moments(const AttentionResult& forward, const AttentionUpstream& upstream) {
  const auto require = [&](const View& view, const char* argument, MomentSet needed, const char* statistic) {
    if (view.present() && forward.rows.moments() < needed)
      throw Error(argument, "given", std::string("a forward pass that computed ") + statistic);
  };
  require(upstream.entropy, "upstream entropy", MomentSet::entropy, "entropy");
  require(upstream.mean_score, "upstream mean_score", MomentSet::entropy, "mean_score");
  require(upstream.score_variance, "upstream score_variance", MomentSet::all, "score_variance");
  require(upstream.collision, "upstream collision", MomentSet::all, "collision");
}

}  // namespace

std::vector<RowConstants> row_constants(const AttentionProblem& problem, const AttentionResult& forward,
                                        const AttentionUpstream& upstream, const std::vector<double>& output_products) {
  require_moments(forward, upstream);
  const Dims dims(problem);
  std::vector<RowConstants> constants(dims.rows());
  for (std::int64_t row = 0; row < dims.rows(); ++row) {
    const std::int64_t i = row % dims.n_q, h = row / dims.n_q % dims.heads, b = row / dims.n_q / dims.heads;
    const SoftmaxRecord<double> keys = forward.rows.record(row);
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
    c.base = contained_product(gL - output_products[row], c.gate) + gE - contained_product(gV, score_variance(keys)) -
             contained_product(2 * gC, collision(keys));
    c.a1 = gE - gH + 2 * gV;
    c.a2 = gV;
    c.a3 = 2 * gC;
    if (problem.sink) c.sink = contained_product(gL - output_products[row], std::exp((*problem.sink)[h] - total));
  }
  return constants;
}

}  // namespace isentropic
