// The sparsity experiment as JSON.
#include <nlohmann/json.hpp>

#include "experiments/sparsity/present.hpp"
#include "isentropic/version.hpp"

namespace isentropic::experiments::sparsity {

nlohmann::ordered_json json(const Results& results) {
  using Json = nlohmann::ordered_json;
  Json curves = Json::array();
  for (const Curve& curve : results.curves) {
    Json formula = Json::array();
    for (const double gamma : results.gammas) formula.push_back(sparsity_of(curve.map, curve.beta, gamma));
    curves.push_back({{"map", name(curve.map)},
                      {"beta", curve.beta},
                      {"formula", formula},
                      {"measured", {{"mean", curve.mean}, {"error", curve.error}}},
                      {"participation", curve.participation},
                      {"limit", wide_limit(curve.map)}});
  }
  return {{"command", "sparsity"},
          {"version", ISENTROPIC_VERSION},
          {"parameters",
           {{"keys", results.options.keys}, {"key_sets", results.options.key_sets}, {"seed", results.options.seed}}},
          {"gamma", results.gammas},
          {"exp_breaks_at", results.exp_breaks_at()},
          {"curves", curves}};
}

}  // namespace isentropic::experiments::sparsity
