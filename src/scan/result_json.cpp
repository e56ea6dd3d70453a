// Writes results as JSON and reads them back. A number that was not measured is null.
#include <algorithm>
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

// Six digits exceed the precision of all of these numbers, and halve the size of the file.
constexpr int kJsonDigits = 6;
Json number(double x) { return rounded(x, kJsonDigits); }
Json numbers(const std::vector<double>& values) { return all_rounded(values, kJsonDigits); }
// Casting other numbers would be undefined.
std::int64_t whole(const Json& json) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  if (!json.is_number_integer() || json < 0 || json > kMost) throw Json::type_error::create(302, "a count", &json);
  return json.get<std::int64_t>();
}
std::size_t index_of(const Json& json) { return static_cast<std::size_t>(whole(json)); }
double number_of(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
std::vector<double> numbers_of(const Json& json) {
  std::vector<double> out;
  for (const Json& x : json) out.push_back(number_of(x));
  return out;
}

Json rows_json(const std::vector<std::vector<double>>& rows) {
  Json out = Json::array();
  for (const auto& row : rows) out.push_back(numbers(row));
  return out;
}
std::vector<std::vector<double>> rows_of(const Json& json) {
  std::vector<std::vector<double>> out;
  for (const Json& row : json) out.push_back(numbers_of(row));
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
          {"rows", layer.rows},
          {"keys", layer.keys},
          {"residual_ratio", number(layer.residual_ratio)},
          {"redundancy", number(layer.redundancy)},
          {"similarities", rows_json(layer.similarities)}};
}

LayerResult layer_of(const Json& json) {
  LayerResult out{};
  out.description.module = json.at("module");
  const std::string kind = json.at("kind");
  for (const Kind known : {Kind::decoder, Kind::encoder, Kind::cross})
    if (kind == name(known)) out.description.kind = known;
  out.description.heads = whole(json.at("heads"));
  out.description.head_width = whole(json.at("head_width"));
  if (!json.at("window").is_null()) out.description.window = whole(json.at("window"));
  out.residual_ratio = number_of(json.at("residual_ratio"));
  out.redundancy = number_of(json.at("redundancy"));
  if (json.contains("rows")) out.rows = whole(json["rows"]), out.keys = whole(json.at("keys"));
  if (json.contains("similarities")) out.similarities = rows_of(json["similarities"]);
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
  out["blocks"] = rows_json(head.blocks);
  out["tile"] = {{"first_row", head.tile.first_row},
                 {"first_key", head.tile.first_key},
                 {"weights", rows_json(head.tile.weights)}};
  out["exact_rows"] = Json::array();
  for (const ExactRow& row : head.exact_rows) {
    Json keys = Json::array();
    for (const KeyWeight& key : row.keys) keys.push_back({key.position, number(key.weight)});
    out["exact_rows"].push_back({{"position", row.position}, {"keys", keys}, {"rest", number(row.rest)}});
  }
  if (!head.patch_weights.empty()) out["patch_weights"] = numbers(head.patch_weights);
  out["length_entropies"] = numbers(head.length_entropies);
  return out;
}

HeadResult head_of(const Json& json) {
  HeadResult out;
  out.layer = index_of(json.at("layer")), out.head = index_of(json.at("head"));
  for (const Json& label : json.at("labels"))
    out.labels.push_back({label.at("name"), number_of(label.at("value")), label.at("detail")});
  for (const auto& [name, value] : json.at("statistics").items()) out.statistics[name] = spread_of(value);
  if (json.contains("nearest")) {
    const Json& nearest = json["nearest"];
    out.nearest =
        Neighbour{index_of(nearest.at("layer")), index_of(nearest.at("head")), number_of(nearest.at("similarity"))};
  }
  out.entropy_curve = numbers_of(json.at("entropy_curve"));
  out.distance_profile = numbers_of(json.at("distance_profile"));
  out.key_strip = numbers_of(json.at("key_strip"));
  for (const Json& key : json.at("heavy_keys"))
    out.heavy_keys.push_back({whole(key.at("position")), number_of(key.at("weight")), key.at("token")});
  out.blocks = rows_of(json.at("blocks"));
  if (json.contains("tile")) {
    const Json& tile = json["tile"];
    out.tile = {whole(tile.at("first_row")), whole(tile.at("first_key")), rows_of(tile.at("weights"))};
  }
  for (const Json& row : json.value("exact_rows", Json::array())) {
    ExactRow& exact = out.exact_rows.emplace_back();
    exact.position = whole(row.at("position")), exact.rest = number_of(row.at("rest"));
    for (const Json& key : row.at("keys")) exact.keys.push_back({whole(key.at(0)), number_of(key.at(1))});
  }
  if (json.contains("patch_weights")) out.patch_weights = numbers_of(json["patch_weights"]);
  out.length_entropies = numbers_of(json.at("length_entropies"));
  return out;
}

Result read(const Json& json) {
  Result out;
  const Json &model = json.at("model"), &text = json.at("text");
  out.model = model.at("name"), out.family = model.at("family");
  out.scale = model.at("scale"), out.map = model.at("map");
  out.parameters = whole(model.at("parameters")), out.trained_length = whole(model.at("trained_length"));
  out.texts = text.at("names").get<std::vector<std::string>>();
  out.tokens = whole(text.at("tokens")), out.windows = whole(text.at("windows")), out.length = whole(text.at("length"));
  if (!json.at("loss").is_null()) out.loss = spread_of(json["loss"]);
  for (const Json& layer : json.at("layers")) out.layers.push_back(layer_of(layer));
  for (const Json& head : json.at("heads")) out.heads.push_back(head_of(head));
  for (const Json& length : json.at("lengths"))
    out.lengths.push_back({whole(length.at("length")), number_of(length.at("keys")), number_of(length.at("loss"))});
  for (const Json& rate : json.at("shuffled_keys")) out.null_rates.push_back({rate.at("label"), rate.at("rate")});
  if (json.contains("alternatives"))
    for (const Json& alternative : json["alternatives"]) out.alternatives.push_back(alternative_of(alternative));
  if (json.contains("theory")) out.theory = theory_of(json["theory"]);
  out.tokens_of_window = json.at("tokens").get<std::vector<std::string>>();
  out.written_of_window = json.value("written_tokens", std::vector<std::string>());
  if (json.contains("picture")) {
    const Json& picture = json["picture"];
    out.picture = Picture{picture.at("source"), picture.at("rows"), picture.at("columns")};
  }
  out.other_layers = json.value("other_layers", std::vector<std::string>());
  if (!json.contains("rows")) return out;
  for (const auto& [name, layers] : json["rows"].items())
    for (const Json& layer : layers) {
      auto& heads = out.rows[name].emplace_back();
      for (const Json& head : layer) heads.push_back(numbers_of(head));
    }
  return out;
}

[[noreturn]] void refuse(const std::string& place) {
  throw Error(place, "not a scan", "a file that isentropic scan --json wrote");
}

// Checks that heads are listed layer by layer and matrices are rectangular: everything else relies on it.
void check_heads(const Result& result, const std::string& place) {
  std::size_t index = 0;
  for (std::size_t layer = 0; layer < result.layers.size(); ++layer)
    for (std::int64_t head = 0; head < result.layers[layer].description.heads; ++head, ++index)
      if (index >= result.heads.size() || result.heads[index].layer != layer ||
          result.heads[index].head != static_cast<std::size_t>(head))
        throw Error(place, "without head " + std::to_string(layer) + "." + std::to_string(head) + " in its place",
                    "the heads of every layer, in order");
  if (index != result.heads.size()) throw Error(place, "with more heads than its layers have", "as many");
  for (const HeadResult& head : result.heads)
    for (const auto* matrix : {&head.blocks, &head.tile.weights})
      for (const auto& row : *matrix)
        if (row.size() != matrix->front().size()) throw Error(place, "with a ragged matrix", "rows of one length");
  for (const LayerResult& layer : result.layers) {
    const std::size_t heads = layer.similarities.empty() ? 0 : static_cast<std::size_t>(layer.description.heads);
    if (layer.similarities.size() != heads ||
        std::ranges::any_of(layer.similarities, [&](const auto& row) { return row.size() != heads; }))
      throw Error(place, "with similarities that are not heads by heads", "a square of the layer's heads");
  }
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
  if (!result.written_of_window.empty()) out["written_tokens"] = result.written_of_window;
  if (const auto& picture = result.picture; picture)
    out["picture"] = {{"source", picture->source}, {"rows", picture->rows}, {"columns", picture->columns}};
  if (!result.other_layers.empty()) out["other_layers"] = result.other_layers;
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

Result result_of(const Json& json, const std::string& place) try {
  if (json.value("format", "") != kFormat || json.value("version", 0) != kVersion) refuse(place);
  Result out = read(json);
  check_heads(out, place);
  return out;
} catch (const nlohmann::json::exception&) {
  refuse(place);
}

Result result_from_json(const std::string& json, const std::string& place) {
  return result_of(Json::parse(json, nullptr, /*allow_exceptions=*/false), place);
}

}  // namespace isentropic::scan
