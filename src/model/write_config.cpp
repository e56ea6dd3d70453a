// Writes config.json, so that transformers and describe() read the same model from it.
#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "attention/problem/problem_spec.hpp"
#include "isentropic/error.hpp"
#include "model/design.hpp"
#include "model/model_folder.hpp"
#include "model/names.hpp"

namespace isentropic::model {
namespace {

using Json = nlohmann::ordered_json;

void add_sizes(const Description& model, Json& out) {
  out["vocab_size"] = model.vocabulary;
  out["hidden_size"] = model.width;
  out["intermediate_size"] = model.mlp_width;
  out["num_hidden_layers"] = model.layers.size();
  out["num_attention_heads"] = model.heads;
  out["max_position_embeddings"] = model.trained_length;
}

void add_decoder(const Description& model, const char* architecture, Json& out) {
  out["architectures"] = {architecture};
  add_sizes(model, out);
  out["num_key_value_heads"] = model.kv_heads;
  out["head_dim"] = model.head_width;
  out["hidden_act"] = "silu";
  out["rms_norm_eps"] = model.norm.epsilon;
  out["attention_bias"] = model.query_bias;
  out["mlp_bias"] = model.mlp_bias;
  const double theta = model.rotary.empty() ? 10000 : model.rotary.front().theta;
  out["rope_theta"] = theta;
  out["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", theta}};
}

void add_smollm3(const Description& model, Json& out) {
  add_decoder(model, "SmolLM3ForCausalLM", out);
  std::vector<int> turns;
  std::vector<std::string> types;
  Json window = nullptr;
  for (const Layer& layer : model.layers) {
    turns.push_back(layer.rotary ? 1 : 0);
    types.emplace_back(layer.window ? "sliding_attention" : "full_attention");
    if (layer.window) window = *layer.window;
  }
  out["no_rope_layers"] = turns;
  out["use_sliding_window"] = !window.is_null();
  out["sliding_window"] = window;
  out["layer_types"] = types;
}

void add_gpt2(const Description& model, Json& out) {
  out["architectures"] = {"GPT2LMHeadModel"};
  out["vocab_size"] = model.vocabulary;
  out["n_embd"] = model.width;
  out["n_inner"] = model.mlp_width;
  out["n_layer"] = model.layers.size();
  out["n_head"] = model.heads;
  out["n_positions"] = model.trained_length;
  out["activation_function"] = "gelu_new";
  out["layer_norm_epsilon"] = model.norm.epsilon;
}

void add_bert(const Description& model, Json& out) {
  out["architectures"] = {"BertForMaskedLM"};
  add_sizes(model, out);
  out["hidden_act"] = "gelu";
  out["layer_norm_eps"] = model.norm.epsilon;
  out["type_vocab_size"] = model.token_types;
}

void add_own(const Description& model, Json& out) {
  add_sizes(model, out);
  out["num_key_value_heads"] = model.kv_heads;
  out["head_dim"] = model.head_width;
  out["norm"] = name(model.norm.kind);
  out["norm_eps"] = model.norm.epsilon;
  out["positions"] = name(model.positions);
  if (model.positions == Positions::relative) out["relative_distance"] = model.relative_distance;
  if (!model.rotary.empty()) out["rope_theta"] = model.rotary.front().theta;
  out["causal"] = model.causal;
}

// Law and map in the format of a written problem; nothing for those that every family has.
void add_own_section(const Description& model, Json& out) {
  ProblemSpec spec;
  spec.scale = model.scale;
  spec.map = model.map;
  const Json problem = Json::parse(to_json(spec));
  Json section = Json::object();
  if (model.scale.name() != "inverse_sqrt_d") section["scale"] = problem["scale"];
  if (model.map.name() != "softmax") section["map"] = problem["map"];
  if (!model.scale_values.empty()) section["scale_values"] = model.scale_values;
  if (!section.empty()) out["isentropic"] = section;
}

}  // namespace

std::string config_text(const Description& model, const FolderTexts& texts, at::ScalarType type) {
  Json out = {{"model_type", model.family}};
  if (model.family == "llama")
    add_decoder(model, "LlamaForCausalLM", out);
  else if (model.family == "smollm3")
    add_smollm3(model, out);
  else if (model.family == "gpt2")
    add_gpt2(model, out);
  else if (model.family == "bert")
    add_bert(model, out);
  else if (model.family == "isentropic")
    add_own(model, out);
  else
    throw Error("family", model.family, "llama, smollm3, gpt2, bert or isentropic, the families that are written");
  out["tie_word_embeddings"] = model.tied;
  const Json end = texts.end_id ? Json(*texts.end_id) : Json(nullptr);
  out["bos_token_id"] = end;
  out["eos_token_id"] = end;
  out["pad_token_id"] = end;
  out["dtype"] = name(type);
  add_own_section(model, out);
  return out.dump(2) + "\n";
}

}  // namespace isentropic::model
