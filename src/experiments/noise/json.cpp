// The noise experiment as JSON; infinite predictions become null.
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/noise/present.hpp"
#include "isentropic/version.hpp"

namespace isentropic::experiments::noise {
namespace {

using Json = nlohmann::ordered_json;

Json estimate_json(const Estimate& x) { return {{"mean", x.mean}, {"error", x.error}}; }
Json finite_json(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json curve_json(const Curve& curve) {
  Json points = Json::array();
  for (const Point& point : curve.points)
    points.push_back({{"n", point.n},
                      {"bias", estimate_json(point.bias)},
                      {"predicted_bias", finite_json(point.predicted_bias)},
                      {"rms", estimate_json(point.rms)},
                      {"predicted_rms", finite_json(point.predicted_rms)},
                      {"median", estimate_json(point.median)}});
  return {{"family", name(curve.noise.family)},
          {"strength", curve.noise.strength},
          {"variance_ratio", finite_json(curve.noise.law().variance_ratio())},
          {"points", points},
          {"power", estimate_json(curve.power)},
          {"predicted_power", curve.predicted_power ? Json(*curve.predicted_power) : Json(nullptr)}};
}

Json attack_json(const AttackRow& row) {
  Json shares;
  for (std::size_t c = 0; c < row.shares.size(); ++c)
    shares[kDirectionNames[c]] = estimate_json(row.shares[c].estimate());
  return {{"budget", kBudgetNames[static_cast<std::size_t>(row.budget)]},
          {"eps", row.eps},
          {"best_gain", row.best_gain},
          {"shares", shares},
          {"worst_share", row.worst_share}};
}

}  // namespace

Json json(const Results& results) {
  Json curves = Json::array(), attacks = Json::array();
  for (const Curve& curve : results.curves) curves.push_back(curve_json(curve));
  for (const AttackRow& row : results.attacks) attacks.push_back(attack_json(row));
  return {{"command", "noise"},
          {"version", ISENTROPIC_VERSION},
          {"parameters",
           {{"draws", results.options.draws},
            {"attack_trials", results.options.attack_trials},
            {"seed", results.options.seed}}},
          {"noise", curves},
          {"attacks", attacks}};
}

}  // namespace isentropic::experiments::noise
