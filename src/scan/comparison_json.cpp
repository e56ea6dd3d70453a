// Writes comparisons as JSON, and reads the results in the output of --json.
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "scan/comparison.hpp"
#include "scan/rounded.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kComparisonFormat = "isentropic scan comparison";
constexpr int kComparisonVersion = 1, kDifferenceDigits = 6;

Json names_json(const std::vector<Label>& labels) {
  Json out = Json::array();
  for (const Label& label : labels) out.push_back(label.name);
  return out;
}

Json comparison_row(const HeadComparison& head) {
  Json differences = Json::object();
  for (const auto& [name, value] : head.differences) differences[name] = rounded(value, kDifferenceDigits);
  return {{"layer", head.layer},
          {"head", head.head},
          {"change", rounded(head.change, kDifferenceDigits)},
          {"gained", names_json(head.gained)},
          {"lost", names_json(head.lost)},
          {"differences", differences}};
}

}  // namespace

Json json_of(const Comparison& comparison) {
  Json out = {{"format", kComparisonFormat}, {"version", kComparisonVersion}};
  out["names"] = {comparison.first_name, comparison.second_name};
  out["sentences"] = sentences(comparison);
  out["heads"] = Json::array();
  for (const HeadComparison& head : comparison.heads) out["heads"].push_back(comparison_row(head));
  out["changed"] = Json::array();
  for (const std::size_t index : comparison.changed)
    out["changed"].push_back({comparison.heads[index].layer, comparison.heads[index].head});
  out["first"] = json_of(comparison.first);
  out["second"] = json_of(comparison.second);
  return out;
}

std::vector<Result> results_from_json(const std::string& json, const std::string& place) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const bool is_comparison = parsed.is_object() && parsed.value("format", Json()) == kComparisonFormat;
  if (!is_comparison) return {result_of(parsed, place)};
  if (parsed.value("version", Json()) != kComparisonVersion || !parsed.contains("first") || !parsed.contains("second"))
    throw Error(place, "not a comparison of this version", "a file that isentropic scan --against --json wrote");
  return {result_of(parsed["first"], place), result_of(parsed["second"], place)};
}

}  // namespace isentropic::scan
