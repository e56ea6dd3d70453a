// The section "isentropic" of config.json: what our models need and other families cannot express.
#include <nlohmann/json.hpp>

#include "attention/problem/problem_spec.hpp"
#include "isentropic/error.hpp"
#include "model/config_fields.hpp"

namespace isentropic::model {
namespace {

std::vector<std::vector<double>> read_values(const nlohmann::json& json, const std::string& place,
                                             const Description& model) {
  const auto complain = [&] {
    throw Error(place, "of another shape",
                "for each of " + std::to_string(model.layers.size()) + " layers a list of " +
                    std::to_string(model.heads) + " numbers");
  };
  if (!json.is_array() || json.size() != model.layers.size()) complain();
  std::vector<std::vector<double>> out;
  for (const nlohmann::json& layer : json) {
    if (!layer.is_array() || static_cast<std::int64_t>(layer.size()) != model.heads) complain();
    for (const nlohmann::json& value : layer)
      if (!value.is_number()) complain();
    out.push_back(layer.get<std::vector<double>>());
  }
  return out;
}

}  // namespace

void read_own_section(const checkpoint::Config& config, Description& out) {
  const auto section = config.find_section("isentropic");
  if (!section) return;
  const nlohmann::json json = nlohmann::json::parse(section->json_text());
  nlohmann::json problem = nlohmann::json::object();
  for (const char* part : {"scale", "map"})
    if (json.contains(part)) problem[part] = json[part];
  const ProblemSpec spec = spec_from_json(problem.dump());
  if (json.contains("scale")) out.scale = spec.scale;
  if (out.scale.name() == "per_row")
    throw Error(section->place("scale"), "per_row", "another law (a config has no rows to give it)");
  if (json.contains("map")) out.map = spec.map;
  if (!json.contains("scale_values")) return;
  if (out.scale.learnable() == 0)
    throw Error(section->place("scale_values"), "given with the scale " + out.scale.name(),
                "a scale with a learnable parameter");
  out.scale_values = read_values(json["scale_values"], section->place("scale_values"), out);
}

}  // namespace isentropic::model
