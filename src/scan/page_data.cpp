// Writes the page's JSON. A number that was not measured is null.
#include "scan/page_data.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "scan/page.hpp"
#include "scan/rounded.hpp"
#include "scan/slope.hpp"
#include "scan/stretches.hpp"
#include "scan/summary.hpp"
#include "scan/terms.hpp"

namespace isentropic::scan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTokensOfStretch = 32, kSpecialTokens = 64, kLongestToken = 40;
constexpr double kSmallestWeight = 5e-5;  // of a block; the colours end above it

constexpr int kDigits = 4, kDigitsOfCurves = 3;

// Its first characters; UTF-8 is not cut within one.
std::string cut(const std::string& token) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(token[i]) & 0xC0u) != 0x80u;
    if ((begins && ++characters > kLongestToken) || i >= 4 * kLongestToken) return token.substr(0, i) + "…";
  }
  return token;
}

// <s>, </s>, <|endoftext|>, [CLS]: how tokenizers write what is not text.
bool looks_special(const std::string& token) {
  if (token.size() < 3 || token.size() > kLongestToken) return false;
  const bool angles = token.front() == '<' && token.back() == '>',
             squares = token.front() == '[' && token.back() == ']';
  if (!angles && !squares) return false;
  return std::all_of(token.begin() + 1, token.end() - 1, [&](char c) {
    const bool is_capital = c >= 'A' && c <= 'Z', is_small = c >= 'a' && c <= 'z', is_digit = c >= '0' && c <= '9';
    return is_capital || c == '_' || (angles && (is_small || is_digit || c == '|' || c == '/' || c == '-'));
  });
}

// The beginning of every stretch of the first window, and where special tokens stand.
Json tokens_json(const std::vector<std::string>& tokens) {
  const std::size_t points = std::min(kCurvePoints, tokens.size());
  Json stretches = Json::array(), special = Json::array();
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t begin = (i * tokens.size() + points - 1) / points;
    const std::size_t end = ((i + 1) * tokens.size() + points - 1) / points;
    stretches.push_back(Json::array());
    for (std::size_t t = begin; t < std::min(end, begin + kTokensOfStretch); ++t)
      stretches.back().push_back(cut(tokens[t]));
  }
  for (std::size_t t = 0; t < tokens.size() && special.size() < kSpecialTokens; ++t)
    if (looks_special(tokens[t])) special.push_back(t);
  return {{"count", tokens.size()}, {"stretches", stretches}, {"special", special}};
}

Json layer_row(const LayerResult& layer) {
  const LayerDescription& about = layer.description;
  constexpr const char* kNames[] = {"decoder", "encoder", "cross"};  // as Kind
  return {{"module", about.module},
          {"kind", kNames[static_cast<std::size_t>(about.kind)]},
          {"heads", about.heads},
          {"head_width", about.head_width},
          {"window", about.window ? Json(*about.window) : Json(nullptr)},
          {"redundancy", rounded(layer.redundancy, kDigits)},
          {"residual_ratio", rounded(layer.residual_ratio, kDigits)}};
}

// Those that some head has, in the order of terms(), then unknown ones.
std::vector<Term> terms_of(const Result& result) {
  std::set<std::string> names;
  for (const HeadResult& head : result.heads) {
    for (const auto& [name, value] : head.statistics) names.insert(name);
    if (head.nearest) names.insert(kSimilarity);
  }
  if (result.lengths.size() > 1) names.insert(kSlope);
  std::vector<Term> out;
  for (const Term& known : terms())
    if (names.erase(known.name) > 0) out.push_back(known);
  for (const std::string& name : names) out.push_back(term(name));
  return out;
}

Json value_json(const Result& result, const HeadResult& head, const std::string& name) {
  if (name == kSimilarity)
    return Json::array({rounded(head.nearest ? head.nearest->similarity : kNotMeasured, kDigits)});
  if (name == kSlope) return Json::array({rounded(entropy_slope(result.lengths, head.length_entropies), kDigits)});
  const auto found = head.statistics.find(name);
  if (found == head.statistics.end()) return Json::array({nullptr});
  Json out = Json::array({rounded(found->second.mean, kDigits)});
  if (found->second.deviation > 0) out.push_back(rounded(found->second.deviation, 2));
  return out;
}

Json head_row(const Result& result, const HeadResult& head, const std::vector<Term>& columns, bool in_full) {
  Json out = {{"layer", head.layer}, {"head", head.head}, {"in_full", in_full}, {"labels", Json::array()}};
  for (const Label& label : head.labels)
    out["labels"].push_back({{"name", label.name}, {"value", rounded(label.value, kDigits)}, {"detail", label.detail}});
  out["values"] = Json::array();
  for (const Term& column : columns) out["values"].push_back(value_json(result, head, column.name));
  if (head.nearest) out["nearest"] = {head.nearest->layer, head.nearest->head};
  out["curve"] =
      all_rounded(stretch_means<double>(head.entropy_curve, in_full ? kCurvePoints : kShortCurve), kDigitsOfCurves);
  out["profile"] = all_rounded(head.distance_profile, kDigitsOfCurves);
  out["lengths"] = all_rounded(head.length_entropies, 4);
  if (!in_full) return out;
  out["strip"] = all_rounded(head.key_strip, kDigitsOfCurves);
  out["keys"] = Json::array();
  for (const HeavyKey& key : head.heavy_keys)
    out["keys"].push_back({key.position, rounded(key.weight, 3), cut(key.token)});
  out["blocks"] = Json::array();
  for (const auto& row : head.blocks) {
    std::vector<double> weights = row;
    for (double& weight : weights)
      if (weight < kSmallestWeight) weight = 0;
    out["blocks"].push_back(all_rounded(weights, kDigitsOfCurves));
  }
  return out;
}

Json rules_json(const Result& result) {
  Json out = Json::array();
  for (const Rule& rule : rules()) {
    const auto found = std::ranges::find(result.null_rates, rule.label, &NullRate::label);
    out.push_back({{"label", rule.label},
                   {"meaning", rule.meaning},
                   {"quantity", rule.quantity},
                   {"threshold", rule.threshold},
                   {"at_least", rule.at_least},
                   {"shuffled", found == result.null_rates.end() ? Json(nullptr) : rounded(found->rate, kDigits)}});
  }
  return out;
}

}  // namespace

std::string page_data(const Result& result) {
  const std::vector<Term> columns = terms_of(result);
  const std::vector<bool> in_full = shown_in_full(result);
  Json out = {{"sentences", sentences(result)}, {"length", result.length}, {"trained_length", result.trained_length}};
  for (const char* list : {"facts", "terms", "definitions", "layers", "lengths", "heads"}) out[list] = Json::array();
  for (const Fact& fact : facts(result)) out["facts"].push_back({fact.label, fact.text});
  for (const Term& column : columns)
    out["terms"].push_back({{"name", column.name},
                            {"title", column.title},
                            {"unit", column.unit},
                            {"meaning", column.meaning},
                            {"is_share", column.is_share},
                            {"is_heavy_tailed", column.is_heavy_tailed}});
  for (const Definition& entry : definitions()) out["definitions"].push_back({entry.name, entry.meaning});
  out["rules"] = rules_json(result);
  for (const LayerResult& layer : result.layers) out["layers"].push_back(layer_row(layer));
  for (const LengthResult& length : result.lengths)
    out["lengths"].push_back({{"length", length.length}, {"loss", rounded(length.loss, 6)}});
  out["loss"] = result.loss ? rounded(result.loss->mean, 6) : Json(nullptr);
  for (std::size_t i = 0; i < result.heads.size(); ++i)
    out["heads"].push_back(head_row(result, result.heads[i], columns, in_full[i]));
  out["alternatives"] = alternatives_page_data(result);
  out["theory"] = theory_page_data(result);
  out["tokens"] = tokens_json(result.tokens_of_window);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace isentropic::scan
