// Alternatives as JSON, for files and for the page. A number that was not measured is null.
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scan/alternatives.hpp"
#include "scan/result.hpp"
#include "scan/rounded.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFileDigits = 6, kPageDigits = 4;

struct NamedNumber {
  const char* name;
  double AlternativeHead::*number;
};
constexpr std::array<NamedNumber, 6> kNumbers = {{{"entropy", &AlternativeHead::entropy},
                                                  {"missing_mass", &AlternativeHead::missing_mass},
                                                  {"error", &AlternativeHead::error},
                                                  {"error_bound", &AlternativeHead::error_bound},
                                                  {"parameter", &AlternativeHead::parameter},
                                                  {"target", &AlternativeHead::target}}};

double value_of(const Json& json) { return json.is_null() ? AlternativeHead::kNone : json.get<double>(); }
std::vector<double> values_of(const Json& json) {
  std::vector<double> out;
  for (const Json& x : json) out.push_back(value_of(x));
  return out;
}

// One of the numbers for every head, layer by layer; empty if no head has it.
Json by_head(const Result& result, const Alternative& alternative, double AlternativeHead::*number) {
  if (std::isnan(mean_over_heads(alternative, number))) return Json::array();
  Json out = Json::array();
  for (std::size_t i = 0; i < std::min(alternative.heads.size(), result.heads.size()); ++i) {
    while (out.size() <= result.heads[i].layer) out.push_back(Json::array());
    out[result.heads[i].layer].push_back(rounded(alternative.heads[i].*number, kPageDigits));
  }
  return out;
}

}  // namespace

Json json_of(const Alternative& alternative) {
  Json out = {{"kind", name(alternative.kind)},
              {"text", alternative.text},
              {"loss", rounded(alternative.loss, kFileDigits)},
              {"length_losses", all_rounded(alternative.length_losses, kFileDigits)}};
  if (!alternative.parameter.empty())
    out["solved"] = {{"parameter", alternative.parameter}, {"length", alternative.solved_for}};
  out["heads"] = Json::array();
  for (const AlternativeHead& head : alternative.heads) {
    Json one = Json::object();
    for (const NamedNumber& field : kNumbers)
      if (!std::isnan(head.*field.number)) one[field.name] = rounded(head.*field.number, kFileDigits);
    one["length_entropies"] = all_rounded(head.length_entropies, kFileDigits);
    out["heads"].push_back(std::move(one));
  }
  return out;
}

Alternative alternative_of(const Json& json) {
  Alternative out;
  const std::string kind = json.at("kind");
  for (const AlternativeKind known : {AlternativeKind::scale, AlternativeKind::map, AlternativeKind::mask})
    if (kind == name(known)) out.kind = known;
  out.text = json.at("text");
  out.loss = value_of(json.at("loss"));
  out.length_losses = values_of(json.at("length_losses"));
  if (json.contains("solved")) {
    out.parameter = json["solved"].at("parameter");
    out.solved_for = json["solved"].at("length");
  }
  for (const Json& one : json.at("heads")) {
    AlternativeHead& head = out.heads.emplace_back();
    for (const NamedNumber& field : kNumbers)
      if (one.contains(field.name)) head.*field.number = value_of(one[field.name]);
    head.length_entropies = values_of(one.at("length_entropies"));
  }
  return out;
}

Json alternatives_page_data(const Result& result) {
  Json out = Json::array();
  for (const Alternative& alternative : result.alternatives) {
    Json one = {{"kind", name(alternative.kind)},
                {"text", alternative.text},
                {"loss", rounded(alternative.loss, kFileDigits)},
                {"entropy", rounded(mean_over_heads(alternative, &AlternativeHead::entropy), kPageDigits)},
                {"parameter", alternative.parameter},
                {"solved_for", alternative.solved_for},
                {"losses", all_rounded(alternative.length_losses, kFileDigits)}};
    one["entropies"] = Json::array();
    for (std::size_t i = 0; i < result.lengths.size(); ++i)
      one["entropies"].push_back(rounded(mean_entropy_at(alternative, i), kPageDigits));
    for (const NamedNumber& field : kNumbers) one["heads"][field.name] = by_head(result, alternative, field.number);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace isentropic::scan
