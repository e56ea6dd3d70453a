// The sparsity experiment as JSON.
#include <nlohmann/json.hpp>

#include "experiments/sparsity/present.hpp"
#include "isentropic/theory/sparsity.hpp"
#include "isentropic/version.hpp"

namespace isentropic::experiments::sparsity {
namespace {

using Json = nlohmann::ordered_json;

Json json(const Points& points) { return {{"mean", points.mean}, {"error", points.error}}; }

template <class At, class Formula>
Json values(const At& at, const Formula& formula) {
  Json out = Json::array();
  for (const auto x : at) out.push_back(formula(x));
  return out;
}

Json json_of_maps(const Results& results) {
  Json out = Json::array();
  for (const Curve& curve : results.curves)
    out.push_back({{"map", name(curve.map)},
                   {"beta", curve.beta},
                   {"formula", values(results.gammas, [&](double x) { return sparsity_of(curve.map, curve.beta, x); })},
                   {"measured", json(curve.measured)},
                   {"participation", curve.measured.participation},
                   {"limit", wide_limit(curve.map)}});
  return out;
}

Json json_of_features(const Results& results) {
  Json out = Json::array();
  for (const FeatureCurve& curve : results.features) {
    const theory::FeatureMoments moments = theory::gaussian_feature_moments(curve.feature);
    out.push_back({{"feature", name(curve.feature)},
                   {"query", name(curve.query)},
                   {"deviation_over_mean", moments.deviation / moments.mean},
                   {"d", kFeatureCounts},
                   {"formula", values(kFeatureCounts, [&](std::int64_t d) { return curve.formula(d); })},
                   {"measured", json(curve.measured)},
                   {"participation", curve.measured.participation}});
  }
  return out;
}

Json json_of_taylor(const Results& results) {
  Json out = Json::array();
  for (const TaylorCurve& curve : results.taylor)
    out.push_back({{"degree", curve.degree},
                   {"features_at_d_64", theory::taylor_features(64, curve.degree)},
                   {"formula", values(results.gammas, [&](double x) { return curve.formula(x); })},
                   {"measured", json(curve.measured)},
                   {"participation", curve.measured.participation},
                   {"floor", curve.floor()}});
  return out;
}

Json json_of_decay(const Results& results) {
  Json out = Json::array();
  for (const DecayCurve& curve : results.decay)
    out.push_back(
        {{"lambda", curve.lambda},
         {"n", kDecayLengths},
         {"formula", values(kDecayLengths, [&](std::int64_t n) { return curve.formula(static_cast<double>(n)); })},
         {"measured", curve.measured},
         {"participation", curve.participation},
         {"most_keys", curve.most_keys()}});
  return out;
}

}  // namespace

Json json(const Results& results) {
  return {{"command", "sparsity"},
          {"version", ISENTROPIC_VERSION},
          {"parameters",
           {{"keys", results.options.keys}, {"key_sets", results.options.key_sets}, {"seed", results.options.seed}}},
          {"gamma", results.gammas},
          {"exp_breaks_at", results.exp_breaks_at()},
          {"curves", json_of_maps(results)},
          {"features", json_of_features(results)},
          {"taylor", json_of_taylor(results)},
          {"decay", json_of_decay(results)}};
}

}  // namespace isentropic::experiments::sparsity
