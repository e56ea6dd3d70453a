// Writes results as JSON and reads them again. A number that was not measured is null.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "scan/result.hpp"
#include "scan/rounded.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "isentropic scan";
constexpr int kVersion = 1;

// Six digits are more than any of the numbers is worth, and half the size of the file.
constexpr int kJsonDigits = 6;
Json number(double x) { return rounded(x, kJsonDigits); }
Json numbers(const std::vector<double>& values) { return all_rounded(values, kJsonDigits); }
double number_of(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
std::vector<double> numbers_of(const Json& json) {
  std::vector<double> out;
  for (const Json& x : json) out.push_back(number_of(x));
  return out;
}

Json spread(const Spread& x) { return {{"mean", number(x.mean)}, {"deviation", number(x.deviation)}}; }
Spread spread_of(const Json& json) { return {number_of(json.at("mean")), number_of(json.at("deviation"))}; }

Json layer_json(const LayerResult& layer) {
  const LayerDescription& about = layer.description;
  return {{"module", about.module},
          {"kind", name(about.kind)},
          {"heads", about.heads},
          {"head_width", about.head_width},
          {"window", about.window ? Json(*about.window) : Json(nullptr)},
          {"residual_ratio", number(layer.residual_ratio)},
          {"redundancy", number(layer.redundancy)}};
}

LayerResult layer_of(const Json& json) {
  LayerResult out{};
  out.description.module = json.at("module");
  const std::string kind = json.at("kind");
  for (const Kind known : {Kind::decoder, Kind::encoder, Kind::cross})
    if (kind == name(known)) out.description.kind = known;
  out.description.heads = json.at("heads");
  out.description.head_width = json.at("head_width");
  if (!json.at("window").is_null()) out.description.window = json.at("window").get<std::int64_t>();
  out.residual_ratio = number_of(json.at("residual_ratio"));
  out.redundancy = number_of(json.at("redundancy"));
  return out;
}

Json head_json(const HeadResult& head) {
  Json out = {{"layer", head.layer}, {"head", head.head}, {"labels", Json::array()}, {"statistics", Json::object()}};
  for (const Label& label : head.labels)
    out["labels"].push_back({{"name", label.name}, {"value", number(label.value)}, {"detail", label.detail}});
  for (const auto& [name, value] : head.statistics) out["statistics"][name] = spread(value);
  if (head.nearest)
    out["nearest"] = {
        {"layer", head.nearest->layer}, {"head", head.nearest->head}, {"similarity", number(head.nearest->similarity)}};
  out["entropy_curve"] = numbers(head.entropy_curve);
  out["distance_profile"] = numbers(head.distance_profile);
  out["key_strip"] = numbers(head.key_strip);
  out["heavy_keys"] = Json::array();
  for (const HeavyKey& key : head.heavy_keys)
    out["heavy_keys"].push_back({{"position", key.position}, {"weight", number(key.weight)}, {"token", key.token}});
  out["blocks"] = Json::array();
  for (const auto& row : head.blocks) out["blocks"].push_back(numbers(row));
  out["length_entropies"] = numbers(head.length_entropies);
  return out;
}

HeadResult head_of(const Json& json) {
  HeadResult out;
  out.layer = json.at("layer"), out.head = json.at("head");
  for (const Json& label : json.at("labels"))
    out.labels.push_back({label.at("name"), number_of(label.at("value")), label.at("detail")});
  for (const auto& [name, value] : json.at("statistics").items()) out.statistics[name] = spread_of(value);
  if (json.contains("nearest")) {
    const Json& nearest = json["nearest"];
    out.nearest = Neighbour{nearest.at("layer"), nearest.at("head"), number_of(nearest.at("similarity"))};
  }
  out.entropy_curve = numbers_of(json.at("entropy_curve"));
  out.distance_profile = numbers_of(json.at("distance_profile"));
  out.key_strip = numbers_of(json.at("key_strip"));
  for (const Json& key : json.at("heavy_keys"))
    out.heavy_keys.push_back({key.at("position"), number_of(key.at("weight")), key.at("token")});
  for (const Json& row : json.at("blocks")) out.blocks.push_back(numbers_of(row));
  out.length_entropies = numbers_of(json.at("length_entropies"));
  return out;
}

Result read(const Json& json) {
  Result out;
  const Json &model = json.at("model"), &text = json.at("text");
  out.model = model.at("name"), out.family = model.at("family");
  out.scale = model.at("scale"), out.map = model.at("map");
  out.parameters = model.at("parameters"), out.trained_length = model.at("trained_length");
  out.texts = text.at("names").get<std::vector<std::string>>();
  out.tokens = text.at("tokens"), out.windows = text.at("windows"), out.length = text.at("length");
  if (!json.at("loss").is_null()) out.loss = spread_of(json["loss"]);
  for (const Json& layer : json.at("layers")) out.layers.push_back(layer_of(layer));
  for (const Json& head : json.at("heads")) out.heads.push_back(head_of(head));
  for (const Json& length : json.at("lengths"))
    out.lengths.push_back({length.at("length"), number_of(length.at("keys")), number_of(length.at("loss"))});
  for (const Json& rate : json.at("shuffled_keys")) out.null_rates.push_back({rate.at("label"), rate.at("rate")});
  if (json.contains("alternatives"))
    for (const Json& alternative : json["alternatives"]) out.alternatives.push_back(alternative_of(alternative));
  if (json.contains("theory")) out.theory = theory_of(json["theory"]);
  out.tokens_of_window = json.at("tokens").get<std::vector<std::string>>();
  if (!json.contains("rows")) return out;
  for (const auto& [name, layers] : json["rows"].items())
    for (const Json& layer : layers) {
      auto& heads = out.rows[name].emplace_back();
      for (const Json& head : layer) heads.push_back(numbers_of(head));
    }
  return out;
}

}  // namespace

Json json_of(const Result& result) {
  Json out = {{"format", kFormat}, {"version", kVersion}};
  out["model"] = {{"name", result.model},  {"family", result.family}, {"parameters", result.parameters},
                  {"scale", result.scale}, {"map", result.map},       {"trained_length", result.trained_length}};
  out["text"] = {
      {"names", result.texts}, {"tokens", result.tokens}, {"windows", result.windows}, {"length", result.length}};
  out["loss"] = result.loss ? spread(*result.loss) : Json(nullptr);
  for (const char* list : {"layers", "heads", "lengths", "shuffled_keys"}) out[list] = Json::array();
  for (const LayerResult& layer : result.layers) out["layers"].push_back(layer_json(layer));
  for (const HeadResult& head : result.heads) out["heads"].push_back(head_json(head));
  for (const LengthResult& length : result.lengths)
    out["lengths"].push_back({{"length", length.length}, {"keys", number(length.keys)}, {"loss", number(length.loss)}});
  for (const NullRate& rate : result.null_rates)
    out["shuffled_keys"].push_back({{"label", rate.label}, {"rate", number(rate.rate)}});
  for (const Alternative& alternative : result.alternatives) out["alternatives"].push_back(json_of(alternative));
  if (!result.theory.heads.empty()) out["theory"] = json_of(result.theory);
  out["tokens"] = result.tokens_of_window;
  for (const auto& [name, layers] : result.rows)
    for (const auto& layer : layers) {
      Json heads = Json::array();
      for (const auto& head : layer) heads.push_back(numbers(head));
      out["rows"][name].push_back(std::move(heads));
    }
  return out;
}

std::string to_json(const Result& result) {
  return json_of(result).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result result_from_json(const std::string& json, const std::string& place) try {
  const Json read_json = Json::parse(json);
  if (read_json.value("format", "") != kFormat || read_json.value("version", 0) != kVersion)
    throw Error(place, "not a scan", "a file that isentropic scan --json wrote");
  return read(read_json);
} catch (const nlohmann::json::exception&) {
  throw Error(place, "not a scan", "a file that isentropic scan --json wrote");
}

}  // namespace isentropic::scan
