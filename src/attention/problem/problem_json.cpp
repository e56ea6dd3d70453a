// Reads and writes problems as JSON, and lists the vocabulary.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "attention/problem/options.hpp"
#include "attention/problem/problem_spec.hpp"
#include "base/one_line.hpp"

namespace isentropic {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

const std::vector<std::string> kKeys = {"causal",   "align",        "window", "prefix", "strided", "block",
                                        "segments", "exclude_self", "scale",  "map",    "bias",    "soft_cap",
                                        "dropout",  "statistics",   "groups", "shard",  "tensors"};
const std::vector<std::string> kTensors = {"mask",  "layout", "key_lengths", "query_offsets", "key_offsets",
                                           "scale", "map",    "bias",        "sink",          "seed"};
const std::vector<std::string> kBiases = {"none", "dense", "alibi", "relative"};  // as Bias::Kind

void require_known(const std::string& argument, const std::string& name, const std::vector<std::string>& known) {
  if (std::ranges::find(known, name) == known.end()) throw Error(argument, in_quotes(name), list_of(known));
}

// ---- reading ----

Option option_of(const Json& value, const std::string& name) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return value.get<std::vector<double>>();
  throw Error(one_line(name), one_line(value.dump()), "a number, a list of numbers, a name, true or false");
}

std::pair<std::int64_t, std::int64_t> pair_of(const Json& value) {
  if (!value.is_array() || value.size() != 2) throw Error("problem text", one_line(value.dump()), "a pair of integers");
  return {value[0].get<std::int64_t>(), value[1].get<std::int64_t>()};
}

void read_mask(const Json& json, ProblemSpec& out) {
  const std::string align = json.value("align", "start");
  require_known("align", align, {"start", "end"});
  const Align side = align == "end" ? Align::end : Align::start;
  Mask mask = json.value("causal", false) ? Mask::causal(side) : Mask::none().aligned(side);
  if (json.contains("window")) mask = std::apply([&](auto... x) { return mask.window(x...); }, pair_of(json["window"]));
  if (json.contains("prefix")) mask = mask.prefix(json["prefix"]);
  if (json.contains("strided"))
    mask = std::apply([&](auto... x) { return mask.strided(x...); }, pair_of(json["strided"]));
  if (json.contains("segments")) mask = mask.segments(json["segments"]);
  if (json.value("exclude_self", false)) mask = mask.exclude_self();
  out.mask = std::move(mask);
  if (json.contains("block")) out.block = pair_of(json["block"]);
}

void read_scale(const Json& json, ProblemSpec& out) {
  const std::string law = json.value("law", "inverse_sqrt_d");
  Options options;
  std::vector<std::string> from_tensors;
  for (const auto& [name, value] : json.items()) {
    if (name == "law") continue;
    if (value == "tensor") from_tensors.push_back(name);
    options.emplace_back(name, value == "tensor" ? Option(1.0) : option_of(value, name));
  }
  if (law == "per_row") {
    if (!options.empty()) throw Error("parameter of the scale per_row", in_quotes(options.front().first), "none");
    out.scale = Scale::per_row({});
    return;
  }
  out.scale = Scale::named(law, options);
  const std::vector<Parameter>& parameters = out.scale.law().parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (std::ranges::find(from_tensors, parameters[i].name) != from_tensors.end()) {
      if (parameters[i].type != Parameter::Type::per_head)
        throw Error(parameters[i].name + " of the scale " + law, "a tensor", "a number: it has no gradient");
      out.scale_tensors.push_back(i);
    }
}

void read_map(const Json& json, ProblemSpec& out) {
  Options options;
  std::string from_tensor;
  for (const auto& [name, value] : json.items()) {
    if (value == "tensor" && name != "name")
      from_tensor = name;
    else if (name != "name")
      options.emplace_back(name, option_of(value, name));
  }
  out.map = ScoreMap::named(json.value("name", "softmax"), options);
  const Parameter* learnable = out.map.learnable();
  if (!from_tensor.empty() && !(learnable && learnable->name == from_tensor))
    throw Error(one_line(from_tensor) + " of the map " + out.map.name(), "a tensor", "a number: it has no gradient");
  if (from_tensor.empty() == out.place("map").has_value())
    throw Error("tensors of the map " + out.map.name(), from_tensor.empty() ? "1" : "0",
                from_tensor.empty() ? "0" : "1");
}

void read_statistics(const Json& json, ProblemSpec& out) {
  const Json names = json.value("statistics", Json::array());
  if (names == "all")
    out.statistics = Statistics::all();
  else
    for (const Json& name : names) out.statistics = out.statistics.with(statistic_named(name));
  if (!json.contains("groups")) return;
  const auto [first, recent] = pair_of(json["groups"]);
  out.statistics = out.statistics.groups(first, recent);
}

std::vector<Run> runs_of(const Json& value) {
  std::vector<Run> out;
  for (const Json& run : value) {
    const auto [offset, length] = pair_of(run);
    out.push_back({offset, length});
  }
  return out;
}

void read_shard(const Json& json, ProblemSpec& out) {
  for (const auto& [key, value] : json.items())
    require_known("key of the shard", key, {"query_runs", "key_runs", "total_queries", "total_keys"});
  out.shard.query_runs = runs_of(json.value("query_runs", Json::array()));
  out.shard.key_runs = runs_of(json.value("key_runs", Json::array()));
  out.shard.total_queries = json.value("total_queries", std::int64_t{-1});
  out.shard.total_keys = json.value("total_keys", std::int64_t{-1});
}

ProblemSpec read(const Json& json) {
  if (!json.is_object()) throw Error("problem text", json.dump(), "a JSON object");
  for (const auto& [key, value] : json.items()) require_known("problem key", key, kKeys);
  ProblemSpec out;
  read_mask(json, out);
  out.tensors = json.value("tensors", std::vector<std::string>{});
  for (const std::string& name : out.tensors) require_known("tensor", name, kTensors);
  read_scale(json.value("scale", Json::object()), out);
  read_map(json.value("map", Json::object()), out);
  const std::string bias = json.value("bias", "none");
  require_known("bias", bias, kBiases);
  out.bias = static_cast<Bias::Kind>(std::ranges::find(kBiases, bias) - kBiases.begin());
  if (json.contains("soft_cap")) out.soft_cap = json["soft_cap"].get<double>();
  out.dropout = json.value("dropout", 0.0);
  read_statistics(json, out);
  read_shard(json.value("shard", Json::object()), out);
  const std::size_t scale_tensors = out.scale.is_per_row() ? 1 : out.scale_tensors.size();
  if (out.scale_places().size() != scale_tensors)
    throw Error("tensors of the scale " + out.scale.name(), std::to_string(out.scale_places().size()),
                std::to_string(scale_tensors));
  return out;
}

// ---- writing ----

template <class J>
J json_of(const Option& option) {
  return std::visit([](const auto& value) { return J(value); }, option);
}

void write_mask(const ProblemSpec& spec, OrderedJson& out) {
  const Mask& mask = spec.mask;
  if (mask.is_causal) out["causal"] = true;
  if (mask.align == Align::end) out["align"] = "end";
  if (mask.window_part) out["window"] = {mask.window_part->left, mask.window_part->right};
  if (mask.prefix_keys > 0) out["prefix"] = mask.prefix_keys;
  if (mask.strided_part) out["strided"] = {mask.strided_part->stride, mask.strided_part->local};
  if (spec.block) out["block"] = {spec.block->first, spec.block->second};
  if (mask.segment_length > 0) out["segments"] = mask.segment_length;
  if (mask.excludes_self) out["exclude_self"] = true;
}

OrderedJson scale_json(const ProblemSpec& spec) {
  OrderedJson out = {{"law", spec.scale.name()}};
  for (const auto& [name, value] : spec.scale.options()) out[name] = json_of<OrderedJson>(value);
  for (const std::size_t index : spec.scale_tensors) out[spec.scale.law().parameters[index].name] = "tensor";
  return out;
}

void write_statistics(const Statistics& statistics, OrderedJson& out) {
  if (statistics.lenient()) {
    out["statistics"] = "all";
  } else if (!statistics.empty()) {
    OrderedJson names = OrderedJson::array();
    for (const std::string& name : statistic_names())
      if (statistics.has(statistic_named(name))) names.push_back(name);
    out["statistics"] = names;
  }
  // groups() requests all of them; those requested by name use the default group sizes.
  const bool every_group = std::ranges::all_of(
      group_statistic_names(), [&](const std::string& name) { return statistics.has(statistic_named(name)); });
  if (every_group) out["groups"] = {statistics.first_keys(), statistics.recent_keys()};
}

void write_shard(const Shard& shard, OrderedJson& out) {
  const auto runs = [](const std::vector<Run>& list) {
    OrderedJson all = OrderedJson::array();
    for (const Run& run : list) all.push_back({run.offset, run.length});
    return all;
  };
  OrderedJson written = OrderedJson::object();
  if (!shard.query_runs.empty()) written["query_runs"] = runs(shard.query_runs);
  if (!shard.key_runs.empty()) written["key_runs"] = runs(shard.key_runs);
  if (shard.total_queries >= 0) written["total_queries"] = shard.total_queries;
  if (shard.total_keys >= 0) written["total_keys"] = shard.total_keys;
  if (!written.empty()) out["shard"] = written;
}

OrderedJson parameters_json(const std::vector<Parameter>& parameters) {
  OrderedJson out = OrderedJson::array();
  for (const Parameter& parameter : parameters) {
    OrderedJson one = {{"name", parameter.name}, {"type", name(parameter.type)}, {"learnable", parameter.learnable}};
    if (parameter.usual) one["default"] = json_of<OrderedJson>(*parameter.usual);
    if (!parameter.choices.empty()) one["choices"] = parameter.choices;
    out.push_back(std::move(one));
  }
  return out;
}

template <class Word>
OrderedJson words_json(const std::vector<Word>& words) {
  OrderedJson out = OrderedJson::array();
  for (const Word& word : words)
    out.push_back({{"name", word.name}, {"formula", word.formula}, {"parameters", parameters_json(word.parameters)}});
  return out;
}

}  // namespace

ProblemSpec spec_from_json(std::string_view text) try {
  return read(Json::parse(text));
} catch (const Json::parse_error& error) {
  throw Error("problem text", "not JSON", error.what());
} catch (const Json::exception& error) {
  throw Error("problem text", "with a value of the wrong type", error.what());
}

std::string to_json(const ProblemSpec& spec) {
  OrderedJson out = OrderedJson::object();
  write_mask(spec, out);
  out["scale"] = scale_json(spec);
  out["map"] = {{"name", spec.map.name()}};
  for (const auto& [name, value] : spec.map.options()) out["map"][name] = json_of<OrderedJson>(value);
  if (spec.place("map")) out["map"][spec.map.learnable()->name] = "tensor";
  if (spec.bias != Bias::Kind::none) out["bias"] = kBiases[static_cast<std::size_t>(spec.bias)];
  if (spec.soft_cap) out["soft_cap"] = *spec.soft_cap;
  if (spec.dropout > 0) out["dropout"] = spec.dropout;
  write_statistics(spec.statistics, out);
  write_shard(spec.shard, out);
  out["tensors"] = spec.tensors;
  return out.dump();
}

std::string vocabulary_json() {
  const OrderedJson out = {{"masks",
                            {"none", "causal", "window", "prefix", "strided", "block_sparse", "key_lengths",
                             "documents", "segments", "exclude_self", "dense"}},
                           {"score_terms", {"dense_bias", "alibi", "relative_bias", "soft_cap", "sink"}},
                           {"scales", words_json(Scale::laws())},
                           {"maps", words_json(ScoreMap::maps())},
                           {"statistics", statistic_names()},
                           {"group_statistics", group_statistic_names()}};
  return out.dump();
}

}  // namespace isentropic
