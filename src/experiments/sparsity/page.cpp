// The curves as an HTML page: two plots and the numbers behind them.
#include "report/page.hpp"

#include <fmt/format.h>

#include <cmath>

#include "experiments/sparsity/present.hpp"

namespace isentropic::experiments::sparsity {
namespace {

using report::CurveStyle;
using report::Plot;

void add_curve(const Results& results, const Curve& curve, Plot* plot) {
  const std::string name = curve.map == WeightMap::exp ? "exp, any β" : fmt::format("β = {:g}", curve.beta);
  const int colour = curve.map == WeightMap::exp ? report::kInk : colour_of(results, curve.beta);
  report::PlotCurve line{.label = name, .style = CurveStyle::formula, .colour = colour};
  for (const double gamma : drawn_gammas()) {
    line.x.push_back(gamma);
    line.y.push_back(sparsity_of(curve.map, curve.beta, gamma));
  }
  plot->curves.push_back(std::move(line));
  plot->curves.push_back({.label = "", .x = results.gammas, .y = curve.mean, .style = CurveStyle::points});
}

Plot plot(const Results& results, WeightMap map, const std::string& title, const std::string& limit) {
  Plot out{.title = title, .x_label = "γ, the spread of the scores", .y_label = "S"};
  // exp first: the others are compared with it.
  for (const WeightMap shown : {WeightMap::exp, map})
    for (const Curve& curve : results.curves)
      if (curve.map == shown) add_curve(results, curve, &out);
  out.curves.push_back(
      {.label = limit, .x = {0, kWidestGamma}, .y = {wide_limit(map), wide_limit(map)}, .style = CurveStyle::bound});
  return out;
}

report::DataTable numbers(const Results& results) {
  report::DataTable out{
      .title = "Every point",
      .columns = {"map", "β", "γ", "formula", "measured", "standard error", "keys that share the mass"}};
  for (const Curve& curve : results.curves)
    for (std::size_t i = 0; i < results.gammas.size(); ++i)
      out.rows.push_back({label(curve.map), fmt::format("{:g}", curve.beta), fmt::format("{:g}", results.gammas[i]),
                          fmt::format("{:.5g}", sparsity_of(curve.map, curve.beta, results.gammas[i])),
                          fmt::format("{:.5f}", curve.mean[i]), fmt::format("{:.5f}", curve.error[i]),
                          fmt::format("{:.1f}", curve.participation[i])});
  return out;
}

}  // namespace

std::string page(const Results& results) {
  const Options& options = results.options;
  report::Page out{.title = "How sparse attention can be",
                   .subtitle = fmt::format("{} Gaussian keys, {} sets of them, seed {}", options.keys, options.key_sets,
                                           options.seed)};
  out.parts.emplace_back(
      report::Prose{"",
                    {"S = E|a|/sqrt(E[a^2]) of weights a = f(s) over scores s ~ N(beta, gamma^2): 1 when "
                     "all weights are equal, 1/sqrt n when one of n keys has everything. n S^2 is "
                     "the number of keys that share the mass.",
                     "Lines are the formulas for n -> inf; points are what the kernels find. A "
                     "colour is one beta in both plots."}});
  out.parts.emplace_back(
      report::Row{{plot(results, WeightMap::relu_squared, "relu²: near 0 only if β < 0", "limit 1/√6"),
                   plot(results, WeightMap::identity, "identity: never low", "floor √(2/π)")}});
  out.parts.emplace_back(report::Prose{
      "",
      {fmt::format(
          "Only exp gets as sparse as one likes by a longer query, whatever the mean score; over {} keys it leaves "
          "its formula before gamma = sqrt(log(n)/2) = {:.2f}, for S cannot fall below {:.4f}. S of relu^2 and of the "
          "identity depends on beta/gamma alone; it is 0 where no key has weight.",
          options.keys, results.exp_breaks_at(), 1 / std::sqrt(static_cast<double>(options.keys)))}});
  out.parts.emplace_back(numbers(results));
  return report::html(out);
}

}  // namespace isentropic::experiments::sparsity
