// Collects the lines and points of every diagram.
#include "experiments/sparsity/diagrams.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "isentropic/theory/sparsity.hpp"
#include "report/plot.hpp"

namespace isentropic::experiments::sparsity {
namespace {

// Curves with the same beta share a colour, whatever their map.
int colour_of(const Results& results, double beta) {
  std::set<double> lower;
  for (const Curve& curve : results.curves)
    if (curve.map != WeightMap::exp && curve.beta < beta) lower.insert(curve.beta);
  return static_cast<int>(lower.size());
}

template <class Formula>
Diagram::Curve over_gammas(const Results& results, const Points& points, const Formula& formula) {
  Diagram::Curve out{.x = drawn_gammas(), .at = results.gammas, .measured = points.mean};
  for (const double gamma : out.x) out.formula.push_back(formula(gamma));
  return out;
}

Diagram::Curve curve_of_map(const Results& results, const Curve& curve) {
  Diagram::Curve out =
      over_gammas(results, curve.measured, [&](double gamma) { return sparsity_of(curve.map, curve.beta, gamma); });
  out.label = curve.map == WeightMap::exp ? "exp, any β" : fmt::format("β = {:g}", curve.beta);
  out.colour = curve.map == WeightMap::exp ? report::kInk : colour_of(results, curve.beta);
  return out;
}

Diagram over_spread(const std::string& title) {
  return {.title = title, .x_label = "γ, the spread of the scores", .low = 0, .high = kWidestGamma};
}

Diagram diagram_of_maps(const Results& results, WeightMap map, const std::string& title, const std::string& limit) {
  Diagram out = over_spread(title);
  // exp first: it is the reference.
  for (const WeightMap shown : {WeightMap::exp, map})
    for (const Curve& curve : results.curves)
      if (curve.map == shown) out.curves.push_back(curve_of_map(results, curve));
  out.bounds.push_back({limit, wide_limit(map)});
  return out;
}

Diagram diagram_of_features(const Results& results) {
  Diagram out{.title = "Independent features: less sparse with more",
              .x_label = "d, the number of features",
              .doubles = true,
              .low = kFeatureCounts[0],
              .high = static_cast<double>(*std::rbegin(kFeatureCounts))};
  int colour = 0;
  for (const FeatureCurve& curve : results.features) {
    const bool equal = curve.query == QueryShape::equal;
    Diagram::Curve line{.label = fmt::format("{}, {}", label(curve.feature), equal ? "all equal" : "one alone"),
                        .colour = colour++,
                        .measured = curve.measured.mean};
    for (const std::int64_t d : kFeatureCounts) {
      line.x.push_back(static_cast<double>(d));
      line.formula.push_back(curve.formula(d));
    }
    line.at = line.x;
    out.curves.push_back(line);
  }
  return out;
}

Diagram diagram_of_taylor(const Results& results) {
  Diagram out = over_spread("Exp cut off after degree p: many features");
  for (const Curve& curve : results.curves)
    if (curve.map == WeightMap::exp) out.curves.push_back(curve_of_map(results, curve));
  int colour = 0;
  for (const TaylorCurve& curve : results.taylor) {
    Diagram::Curve line = over_gammas(results, curve.measured, [&](double gamma) { return curve.formula(gamma); });
    line.label = fmt::format("p = {}", curve.degree);
    line.colour = colour++;
    out.curves.push_back(line);
    out.bounds.push_back({fmt::format("floor {:.3f}", curve.floor()), curve.floor()});
  }
  return out;
}

Diagram decay_over_lengths(const Results& results) {
  Diagram out{.title = "Decay over the length: sparse past its memory",
              .x_label = "n",
              .doubles = true,
              .low = static_cast<double>(kDecayLengths[0]),
              .high = static_cast<double>(*std::rbegin(kDecayLengths))};
  // Every other lambda is enough.
  for (std::size_t i = 0; i < results.decay.size(); i += 2) {
    const DecayCurve& curve = results.decay[i];
    Diagram::Curve line{.label = fmt::format("λ = {:.4g}", curve.lambda),
                        .colour = static_cast<int>(i / 2),
                        .at = {std::begin(kDecayLengths), std::end(kDecayLengths)},
                        .measured = curve.measured};
    for (double n = out.low; n < 1.01 * out.high; n *= std::exp2(0.25)) {
      line.x.push_back(n);
      line.formula.push_back(curve.formula(n));
    }
    out.curves.push_back(line);
  }
  return out;
}

Diagram decay_over_memory(const Results& results) {
  Diagram out{.title = "Decay over λ: near 1 it stops",
              .x_label = "1/(1 − λ), the memory",
              .doubles = true,
              .low = 2,
              .high = std::ldexp(1.0, kSlowestDecay)};
  for (std::size_t i = 0; i < std::size(kDecayLengths); ++i) {
    Diagram::Curve line{.label = fmt::format("n = {}", kDecayLengths[i]), .colour = static_cast<int>(i)};
    for (const DecayCurve& curve : results.decay) {
      line.x.push_back(1 / (1 - curve.lambda));
      line.formula.push_back(curve.formula(static_cast<double>(kDecayLengths[i])));
      line.measured.push_back(curve.measured[i]);
    }
    line.at = line.x;
    out.curves.push_back(line);
  }
  return out;
}

}  // namespace

std::vector<Diagram> diagrams(const Results& results) {
  return {diagram_of_maps(results, WeightMap::relu_squared, "relu²: near 0 only if β < 0", "limit 1/√6"),
          diagram_of_maps(results, WeightMap::identity, "identity: never low", "floor √(2/π)"),
          diagram_of_features(results),
          diagram_of_taylor(results),
          decay_over_lengths(results),
          decay_over_memory(results)};
}

}  // namespace isentropic::experiments::sparsity
