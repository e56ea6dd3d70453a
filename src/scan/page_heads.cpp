// The heads of a page: the numbers of all, the drawings of some.
#include <nlohmann/json.hpp>

#include "scan/head_values.hpp"
#include "scan/packed_weights.hpp"
#include "scan/page_data.hpp"
#include "scan/rounded.hpp"
#include "scan/stretches.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDigitsOfValues = 4, kDigitsOfCurves = 3;

Json value_json(const Spread& value) {
  Json out = Json::array({rounded(value.mean, kDigitsOfValues)});
  if (value.deviation > 0) out.push_back(rounded(value.deviation, 2));
  return out;
}

Json matrix_json(const std::vector<std::vector<double>>& rows) {
  std::vector<double> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return {{"columns", rows.empty() ? 0 : rows.front().size()}, {"weights", packed(all)}};
}

void add_drawings(const HeadResult& head, Json* out) {
  (*out)["strip"] = packed(head.key_strip);
  if (!head.patch_weights.empty()) (*out)["patches"] = packed(head.patch_weights);
  (*out)["keys"] = Json::array();
  for (const HeavyKey& key : head.heavy_keys)
    (*out)["keys"].push_back({key.position, rounded(key.weight, 3), cut_token(key.token)});
  (*out)["blocks"] = matrix_json(head.blocks);
  (*out)["tile"] = matrix_json(head.tile.weights);
  (*out)["tile"]["first_row"] = head.tile.first_row;
  (*out)["tile"]["first_key"] = head.tile.first_key;
  (*out)["rows"] = Json::array();  // position, the total of the other keys, keys with their weights
  for (const ExactRow& row : head.exact_rows) {
    Json keys = Json::array();
    for (const KeyWeight& key : row.keys) keys.push_back({key.position, rounded(key.weight, kDigitsOfValues)});
    (*out)["rows"].push_back({row.position, rounded(row.rest, kDigitsOfValues), std::move(keys)});
  }
}

}  // namespace

Json page_heads(const Result& result, const std::vector<Term>& columns, const std::vector<bool>& in_full) {
  Json out = Json::array();
  for (std::size_t i = 0; i < result.heads.size(); ++i) {
    const HeadResult& head = result.heads[i];
    Json row = {{"layer", head.layer}, {"head", head.head}, {"in_full", bool{in_full[i]}}, {"labels", Json::array()}};
    for (const Label& label : head.labels)
      row["labels"].push_back(
          {{"name", label.name}, {"value", rounded(label.value, kDigitsOfValues)}, {"detail", label.detail}});
    row["values"] = Json::array();
    for (const Term& column : columns) row["values"].push_back(value_json(value_of(result, head, column.name)));
    if (head.nearest) row["nearest"] = {head.nearest->layer, head.nearest->head};
    row["curve"] = all_rounded(stretch_means<double>(head.entropy_curve, in_full[i] ? kCurvePoints : kShortCurve),
                               kDigitsOfCurves);
    row["profile"] = packed(head.distance_profile);
    row["lengths"] = all_rounded(head.length_entropies, kDigitsOfValues);
    if (in_full[i]) add_drawings(head, &row);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace isentropic::scan
