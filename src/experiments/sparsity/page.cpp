// The curves as an HTML page: plots in pairs, what they show, and the underlying numbers.
#include "report/page.hpp"

#include <fmt/format.h>

#include <cmath>

#include "experiments/sparsity/diagrams.hpp"
#include "experiments/sparsity/present.hpp"
#include "isentropic/theory/sparsity.hpp"

namespace isentropic::experiments::sparsity {
namespace {

using report::CurveStyle;
using report::DataTable;
using report::Plot;

Plot plot(const Diagram& diagram) {
  Plot out{.title = diagram.title,
           .x_label = diagram.x_label,
           .y_label = "S",
           .x_scale = diagram.doubles ? report::PlotScale::log : report::PlotScale::linear};
  for (const Diagram::Curve& curve : diagram.curves) {
    out.curves.push_back(
        {.label = curve.label, .x = curve.x, .y = curve.formula, .style = CurveStyle::formula, .colour = curve.colour});
    out.curves.push_back({.label = "", .x = curve.at, .y = curve.measured, .style = CurveStyle::points});
  }
  for (const Diagram::Bound& bound : diagram.bounds)
    out.curves.push_back(
        {.label = bound.label, .x = {diagram.low, diagram.high}, .y = {bound.s, bound.s}, .style = CurveStyle::bound});
  return out;
}

// The cells of a measured point: formula, measured, error, keys.
std::vector<std::string> cells(std::vector<std::string> first, double formula, const Points& points, std::size_t i) {
  first.insert(first.end(), {fmt::format("{:.5g}", formula), fmt::format("{:.5f}", points.mean[i]),
                             fmt::format("{:.5f}", points.error[i]), fmt::format("{:.1f}", points.participation[i])});
  return first;
}

DataTable table(const std::string& title, std::vector<std::string> first) {
  first.insert(first.end(), {"formula", "measured", "standard error", "keys that share the mass"});
  return {.title = title, .columns = std::move(first)};
}

DataTable numbers_of_maps(const Results& results) {
  DataTable out = table("Maps of scores, every point", {"map", "β", "γ"});
  for (const Curve& curve : results.curves)
    for (std::size_t i = 0; i < results.gammas.size(); ++i)
      out.rows.push_back(
          cells({label(curve.map), fmt::format("{:g}", curve.beta), fmt::format("{:g}", results.gammas[i])},
                sparsity_of(curve.map, curve.beta, results.gammas[i]), curve.measured, i));
  return out;
}

DataTable numbers_of_features(const Results& results) {
  DataTable out = table("Independent features, every point", {"feature", "of the query", "d"});
  for (const FeatureCurve& curve : results.features)
    for (std::size_t i = 0; i < std::size(kFeatureCounts); ++i)
      out.rows.push_back(cells({label(curve.feature), curve.query == QueryShape::equal ? "all equal" : "one alone",
                                std::to_string(kFeatureCounts[i])},
                               curve.formula(kFeatureCounts[i]), curve.measured, i));
  return out;
}

DataTable numbers_of_taylor(const Results& results) {
  DataTable out = table("Exp cut off after degree p, every point", {"p", "features at d = 64", "γ"});
  for (const TaylorCurve& curve : results.taylor)
    for (std::size_t i = 0; i < results.gammas.size(); ++i)
      out.rows.push_back(
          cells({std::to_string(curve.degree), fmt::format("{:.0f}", theory::taylor_features(64, curve.degree)),
                 fmt::format("{:g}", results.gammas[i])},
                curve.formula(results.gammas[i]), curve.measured, i));
  return out;
}

DataTable numbers_of_decay(const Results& results) {
  DataTable out{.title = "Decay, every point",
                .columns = {"λ", "n", "formula", "kernel", "keys that share the mass", "their limit"}};
  for (const DecayCurve& curve : results.decay)
    for (std::size_t i = 0; i < std::size(kDecayLengths); ++i)
      out.rows.push_back({fmt::format("{:g}", curve.lambda), std::to_string(kDecayLengths[i]),
                          fmt::format("{:.6f}", curve.formula(static_cast<double>(kDecayLengths[i]))),
                          fmt::format("{:.6f}", curve.measured[i]), fmt::format("{:.2f}", curve.participation[i]),
                          fmt::format("{:g}", curve.most_keys())});
  return out;
}

report::Prose about_maps(const Results& results) {
  const std::int64_t keys = results.options.keys;
  return {"",
          {fmt::format("Only exp gets as sparse as one likes by a longer query, whatever the mean score; over {} keys "
                       "it leaves its formula before gamma = sqrt(log(n)/2) = {:.2f}, for S cannot fall below {:.4f}. "
                       "S of relu^2 and of the identity depends on beta/gamma alone; it is 0 where no key has weight.",
                       keys, results.exp_breaks_at(), 1 / std::sqrt(static_cast<double>(keys)))}};
}

const report::Prose kAboutFeatures{
    "Linear attention",
    {"Weights phi(q).phi(k) over d independent features of Gaussian keys, k ~ N(0, I). With c = deviation/mean of a "
     "feature S = 1/sqrt(1 + c^2/d) when all features of the query are equal and 1/sqrt(1 + c^2) when one stands "
     "alone; every other query lies between. More features of this kind never make attention sparser.",
     "Features that imitate exp do: sum_{k <= p} s^k/k! over scores s ~ N(0, gamma^2) tends to exp as p grows. It "
     "takes C(d + p, p) features, 2145 at d = 64 for p = 2 and 814385 for p = 4, and still ends at a floor. Large "
     "weights are rare: like exp, high degrees leave their formula at large gamma, where it speaks of more keys than "
     "there are."}};

const report::Prose kAboutDecay{
    "Decay",
    {"Weights lambda^(n-j), whatever the keys say. S falls like n^{-1/2} once n exceeds the memory 1/(1 - lambda), and "
     "stays near 1 before. This is sparse relative to n alone: the number of keys that share the mass tends to "
     "(1 + lambda)/(1 - lambda), at any length."}};

}  // namespace

std::string page(const Results& results) {
  const Options& options = results.options;
  const std::vector<Diagram> drawn = diagrams(results);
  const auto pair = [&](std::size_t first) { return report::Row{{plot(drawn[first]), plot(drawn[first + 1])}}; };
  report::Page out{.title = "How sparse attention can be",
                   .subtitle = fmt::format("{} Gaussian keys, {} sets of them, seed {}", options.keys, options.key_sets,
                                           options.seed)};
  out.parts.emplace_back(report::Prose{
      "",
      {"S = E|a|/sqrt(E[a^2]) of weights a: 1 when all weights are equal, 1/sqrt n when one of n keys has "
       "everything. n S^2 is the number of keys that share the mass. First, weights a = f(s) over scores "
       "s ~ N(beta, gamma^2).",
       "Lines are the formulas; points are what the kernels find. A colour is one beta in the first two "
       "plots."}});
  out.parts.emplace_back(pair(0));
  out.parts.emplace_back(about_maps(results));
  out.parts.emplace_back(kAboutFeatures);
  out.parts.emplace_back(pair(2));
  out.parts.emplace_back(kAboutDecay);
  out.parts.emplace_back(pair(4));
  out.parts.emplace_back(numbers_of_maps(results));
  out.parts.emplace_back(numbers_of_features(results));
  out.parts.emplace_back(numbers_of_taylor(results));
  out.parts.emplace_back(numbers_of_decay(results));
  return report::html(out);
}

}  // namespace isentropic::experiments::sparsity
