// The lengths experiment as JSON.
#include <nlohmann/json.hpp>

#include "experiments/lengths/present.hpp"
#include "isentropic/version.hpp"

namespace isentropic::experiments::lengths {
namespace {

using Json = nlohmann::ordered_json;

Json estimate_json(const Estimate& x) { return {{"mean", x.mean}, {"error", x.error}}; }

// {"mean": [...], "error": [...]} of one field at all lengths.
Json series_json(const std::vector<Measurement>& points, Estimate Measurement::*field) {
  Json mean = Json::array(), error = Json::array();
  for (const Measurement& point : points) {
    mean.push_back((point.*field).mean);
    error.push_back((point.*field).error);
  }
  return {{"mean", mean}, {"error", error}};
}

Json curve_json(const Curve& curve) {
  return {{"law", curve.law.name},
          {"label", curve.law.label},
          {"lambda", series_json(curve.points, &Measurement::lambda)},
          {"entropy", series_json(curve.points, &Measurement::entropy)},
          {"slope", estimate_json(curve.slope)},
          {"needle_probability", series_json(curve.points, &Measurement::needle)},
          {"needle_entropy", series_json(curve.points, &Measurement::needle_entropy)},
          {"needle_slope", estimate_json(curve.needle_slope)}};
}

Json compensation_json(const Compensation& compensation) {
  Json tried = Json::array();
  for (const Trial& trial : compensation.tried)
    tried.push_back({{"kappa", trial.kappa}, {"slope", estimate_json(trial.slope)}});
  return {{"kappa", compensation.zero ? estimate_json(*compensation.zero) : Json(nullptr)},
          {"clear", compensation.is_clear()},
          {"flattest_tried", compensation.flattest().kappa},
          {"tried", tried}};
}

Json sweep_json(const Sweep& sweep) {
  Json curves = Json::array();
  for (const Curve& curve : sweep.curves) curves.push_back(curve_json(curve));
  return {{"keys", name(sweep.keys)}, {"d", sweep.d},
          {"key_sets", sweep.sets},   {"queries_per_set", sweep.queries},
          {"curves", curves},         {"compensation", compensation_json(sweep.compensation)}};
}

}  // namespace

Json json(const Results& results) {
  const Options& options = results.options;
  Json sweeps = Json::array();
  for (const Sweep& sweep : results.sweeps) sweeps.push_back(sweep_json(sweep));
  return {{"command", "lengths"},
          {"version", ISENTROPIC_VERSION},
          {"unit", "nats"},
          {"parameters",
           {{"d", options.d},
            {"seed", options.seed},
            {"effort", name(options.effort)},
            {"positions", {{"kind", name(options.positions.kind)}, {"strength", options.positions.strength}}},
            {"trained_length", kTrainedLength},
            {"frozen_length", kFrozenLength},
            {"target_entropy", kTargetEntropy}}},
          {"lengths", results.lengths},
          {"sweeps", sweeps}};
}

}  // namespace isentropic::experiments::lengths
