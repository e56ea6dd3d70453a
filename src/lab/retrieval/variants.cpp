// Lists and names the variants of a retrieval study.
#include "lab/retrieval/variants.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/retrieval/study.hpp"
#include "lab/words.hpp"

namespace isentropic::lab::retrieval {
namespace {

// The map with its modifications.
std::string map_words(const Variant& variant) {
  std::string out = variant.map;
  if (variant.learnt_map) out += " learnt";
  if (!variant.key_bias) out += " without key bias";
  if (variant.features > 0) out += ", " + std::to_string(variant.features) + " features";
  return out;
}

}  // namespace

bool scale_matters(const ScoreMap& map) {
  if (map.kind() == ScoreMap::Kind::decay) return false;
  const bool multiplies = map.kind() == ScoreMap::Kind::linear || map.kind() == ScoreMap::Kind::identity ||
                          map.kind() == ScoreMap::Kind::relu_squared;
  return !(multiplies && (map.normaliser() == Normaliser::l1 || map.normaliser() == Normaliser::l2));
}

std::string Variant::label() const {
  if (!scale_matters(map_from_text(map))) return map_words(*this);
  const std::string separator = key_bias && features == 0 ? " " : ", ";
  return map_words(*this) + separator + scale + (learnt_scale ? ", learnt" : "");
}

std::string Variant::title() const {
  std::string out = map_words(*this);
  std::ranges::replace(out, '_', ' ');
  if (!scale_matters(map_from_text(map))) return out;
  out += ", " + scale_from_text(scale).law().formula;
  const std::size_t colon = scale.find(':');
  if (colon != std::string::npos) out += " (" + scale.substr(colon + 1) + ")";
  return out + (learnt_scale ? ", learnt" : "");
}

nlohmann::ordered_json json_of(const Variant& variant) {
  return {{"map", variant.map},
          {"scale", variant.scale},
          {"learnt_map", variant.learnt_map},
          {"learnt_scale", variant.learnt_scale},
          {"key_bias", variant.key_bias},
          {"features", variant.features}};
}

std::vector<Variant> variants_of(const Study& study) {
  std::vector<Variant> out;
  for (const std::string& scale : study.scales) out.push_back({.scale = scale});
  for (const std::string& scale : study.learnt_scales) out.push_back({.scale = scale, .learnt_scale = true});
  const auto add = [&](Variant variant) {
    const ScoreMap map = map_from_text(variant.map);
    std::vector<std::int64_t> sizes = {0};
    if (map.kind() == ScoreMap::Kind::linear && !study.feature_sizes.empty()) sizes = study.feature_sizes;
    for (const std::int64_t size : sizes)
      for (const char* scale : {"inverse_sqrt_d", "log_n"}) {
        variant.scale = scale, variant.features = size;
        out.push_back(variant);
        if (!scale_matters(map)) break;
      }
  };
  for (const std::string& map : study.maps) add({.map = map});
  for (const std::string& map : study.learnt_maps) add({.map = map, .learnt_map = true});
  for (const std::string& map : study.without_key_bias) add({.map = map, .key_bias = false});
  return out;
}

}  // namespace isentropic::lab::retrieval
