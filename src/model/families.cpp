// The table of families. A family is a description in a few lines and a list of names.
#include "model/families.hpp"

#include <algorithm>

#include "base/list_of.hpp"
#include "base/one_line.hpp"
#include "isentropic/error.hpp"
#include "model/config_fields.hpp"
#include "model/design.hpp"

namespace isentropic::model {
namespace {

using checkpoint::Config;

// ---- Decoders ----

void gpt2(const Config& config, Description& out) {
  read_sizes(config, out, {.mlp_width = 4 * read_width(config), .length_fields = {"n_positions", "n_ctx"}});
  out.norm = {NormKind::layer, config.find_number("layer_norm_epsilon").value_or(1e-5)};
  out.positions = Positions::learned;
  out.projections = Projections::fused;
  out.query_bias = out.output_bias = out.mlp_bias = true;
  out.gated = false;
  out.activation = read_activation(config, {"activation_function"}, "gelu_new");
  if (!config.find_boolean("scale_attn_weights").value_or(true)) out.scale = Scale::constant(1.0);
  out.scale_by_inverse_layer = config.find_boolean("scale_attn_by_inverse_layer_idx").value_or(false);
  out.tied = read_tied(config, true);
}

void gpt_neox(const Config& config, Description& out) {
  read_sizes(config, out);
  out.kv_heads = out.heads;
  out.norm = {NormKind::layer, config.find_number("layer_norm_eps").value_or(1e-5)};
  read_rotary(config, out, {.partial = 0.25});
  out.projections = Projections::fused_by_head;
  out.query_bias = out.output_bias = config.find_boolean("attention_bias").value_or(true);
  out.mlp_bias = true;
  out.gated = false;
  out.activation = read_activation(config, {"hidden_act"}, "gelu");
  out.parallel_residual = config.find_boolean("use_parallel_residual").value_or(true);
  out.tied = read_tied(config, false);
}

void llama(const Config& config, Description& out) {
  read_sizes(config, out);
  out.norm = {NormKind::rms, config.find_number("rms_norm_eps").value_or(1e-6)};
  read_rotary(config, out);
  out.query_bias = out.output_bias = config.find_boolean("attention_bias").value_or(false);
  out.mlp_bias = config.find_boolean("mlp_bias").value_or(false);
  out.activation = read_activation(config, {"hidden_act", "hidden_activation"}, "silu");
  out.tied = read_tied(config, false);
}

void mistral(const Config& config, Description& out) {
  llama(config, out);
  read_windows(
      config, out, [](std::size_t) { return true; }, 4096);
}

void qwen2(const Config& config, Description& out) {
  llama(config, out);
  out.query_bias = true;
  const auto full = static_cast<std::size_t>(config.find_integer("max_window_layers", {.least = 0}).value_or(28));
  if (config.find_boolean("use_sliding_window").value_or(false))
    read_windows(
        config, out, [full](std::size_t layer) { return layer >= full; }, 4096);
}

void qwen3(const Config& config, Description& out) {
  qwen2(config, out);
  out.query_bias = out.output_bias;
  out.query_key_norm = QueryKeyNorm::per_head;
}

void gemma2(const Config& config, Description& out) {
  llama(config, out);
  out.norm.one_plus_weight = true;
  out.norm_place = NormPlace::around;
  out.activation = read_activation(config, {"hidden_activation", "hidden_act"}, "gelu_pytorch_tanh");
  read_query_scale(config, out);
  out.score_cap = config.find_number("attn_logit_softcapping", {.least = 0});
  out.logits_cap = config.find_number("final_logit_softcapping", {.least = 0});
  out.embedding_scale = std::sqrt(static_cast<double>(out.width));
  read_windows(
      config, out, [](std::size_t layer) { return layer % 2 == 0; }, 4096);
  out.tied = read_tied(config, true);
}

void gemma3(const Config& config, Description& out) {
  gemma2(config, out);
  out.query_key_norm = QueryKeyNorm::per_head;
  const auto pattern =
      static_cast<std::size_t>(config.find_integer("sliding_window_pattern", {.least = 1}).value_or(6));
  read_windows(
      config, out, [pattern](std::size_t layer) { return (layer + 1) % pattern != 0; }, 4096);
  read_rotary_by_window(config, out);
}

void olmo2(const Config& config, Description& out) {
  llama(config, out);
  out.norm.epsilon = config.find_number("rms_norm_eps").value_or(1e-5);
  out.norm_place = NormPlace::after_sublayer;
  out.query_key_norm = QueryKeyNorm::full_width;
}

void smollm3(const Config& config, Description& out) {
  llama(config, out);
  read_rotary(config, out, {.theta = 2000000});
  const std::vector<bool> turns = read_rotary_layers(config, out.layers.size());
  for (std::size_t i = 0; i < out.layers.size(); ++i)
    if (!turns[i]) out.layers[i].rotary.reset();
  if (config.find_boolean("use_sliding_window").value_or(false))
    read_windows(config, out, [&](std::size_t layer) { return !turns[layer]; });
  out.tied = read_tied(config, true);
}

void granite(const Config& config, Description& out) {
  llama(config, out);
  out.embedding_scale = config.find_number("embedding_multiplier").value_or(1);
  out.residual_scale = config.find_number("residual_multiplier").value_or(1);
  out.scale = Scale::constant(config.find_number("attention_multiplier").value_or(1));
  const checkpoint::NumberRange positive{.least = 1e-30};
  out.logits_scale = 1 / config.find_number("logits_scaling", positive).value_or(1);
}

// ---- Encoders ----

void bert(const Config& config, Description& out) {
  read_sizes(config, out);
  out.kv_heads = out.heads;
  out.causal = config.find_boolean("is_decoder").value_or(false);
  out.norm = {NormKind::layer, config.find_number("layer_norm_eps").value_or(1e-12)};
  out.norm_place = NormPlace::after_residual;
  out.embedding_norm = true;
  out.final_norm = false;
  require_absolute_positions(config);
  out.positions = Positions::learned;
  out.token_types = config.find_integer("type_vocab_size", {.least = 0, .most = 1 << 20}).value_or(2);
  out.query_bias = out.output_bias = out.mlp_bias = true;
  out.gated = false;
  out.activation = read_activation(config, {"hidden_act", "activation"}, "gelu");
  out.head = Head::masked_lm;
  out.tied = read_tied(config, true);
}

void distilbert(const Config& config, Description& out) {
  bert(config, out);
  out.token_types = 0;
}

void roberta(const Config& config, Description& out) {
  bert(config, out);
  out.position_offset = config.find_integer("pad_token_id", {.least = 0, .most = 1 << 20}).value_or(1) + 1;
  if (out.trained_length <= out.position_offset)
    throw Error(config.place("max_position_embeddings"), std::to_string(out.trained_length),
                "more than pad_token_id + 1, " + std::to_string(out.position_offset));
  out.trained_length -= out.position_offset;
}

// ---- Our own ----

// What no family above can express: new models with other positions, or with a different norm for them.
void own(const Config& config, Description& out) {
  read_sizes(config, out);
  design(out, norm_named(config.text("norm")), positions_named(config.text("positions")), config.boolean("causal"));
  out.norm.epsilon = config.number("norm_eps", {.least = 0});
  if (out.positions == Positions::relative)
    out.relative_distance = config.integer("relative_distance", {.least = 1, .most = 1 << 20});
  out.tied = read_tied(config, true);
}

// ---- Names ----

const std::vector<StoredName> kLlamaNames = {
    {"tokens", "embed_tokens"},
    {"layers.#.attention_norm", "layers.#.input_layernorm"},
    {"layers.#.query", "layers.#.self_attn.q_proj"},
    {"layers.#.key", "layers.#.self_attn.k_proj"},
    {"layers.#.value", "layers.#.self_attn.v_proj"},
    {"layers.#.output", "layers.#.self_attn.o_proj"},
    {"layers.#.query_norm", "layers.#.self_attn.q_norm"},
    {"layers.#.key_norm", "layers.#.self_attn.k_norm"},
    {"layers.#.mlp_norm", "layers.#.post_attention_layernorm"},
    {"layers.#.gate", "layers.#.mlp.gate_proj"},
    {"layers.#.up", "layers.#.mlp.up_proj"},
    {"layers.#.down", "layers.#.mlp.down_proj"},
    {"final_norm", "norm"},
    {"head", "/lm_head"},
};

std::vector<StoredName> with(std::vector<StoredName> names, const std::vector<StoredName>& changes) {
  for (const StoredName& change : changes) {
    const auto same = [&](const StoredName& x) { return std::string(x.ours) == change.ours; };
    std::erase_if(names, same);
    names.push_back(change);
  }
  return names;
}

const std::vector<StoredName> kOlmo2Names =
    with(kLlamaNames, {
                          {"layers.#.attention_post_norm", "layers.#.post_attention_layernorm"},
                          {"layers.#.mlp_post_norm", "layers.#.post_feedforward_layernorm"},
                      });

const std::vector<StoredName> kGemma2Names =
    with(kOlmo2Names, {
                          {"layers.#.mlp_norm", "layers.#.pre_feedforward_layernorm"},
                      });

const std::vector<StoredName> kGpt2Names = {
    {"tokens", "wte"},
    {"positions", "wpe"},
    {"layers.#.attention_norm", "h.#.ln_1"},
    {"layers.#.query_key_value", "h.#.attn.c_attn", true},
    {"layers.#.output", "h.#.attn.c_proj", true},
    {"layers.#.mlp_norm", "h.#.ln_2"},
    {"layers.#.up", "h.#.mlp.c_fc", true},
    {"layers.#.down", "h.#.mlp.c_proj", true},
    {"final_norm", "ln_f"},
    {"head", "/lm_head"},
};

const std::vector<StoredName> kNeoxNames = {
    {"tokens", "embed_in"},
    {"layers.#.attention_norm", "layers.#.input_layernorm"},
    {"layers.#.query_key_value", "layers.#.attention.query_key_value"},
    {"layers.#.output", "layers.#.attention.dense"},
    {"layers.#.mlp_norm", "layers.#.post_attention_layernorm"},
    {"layers.#.up", "layers.#.mlp.dense_h_to_4h"},
    {"layers.#.down", "layers.#.mlp.dense_4h_to_h"},
    {"final_norm", "final_layer_norm"},
    {"head", "/embed_out"},
};

const std::vector<StoredName> kBertNames = {
    {"tokens", "embeddings.word_embeddings"},
    {"positions", "embeddings.position_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"embedding_norm", "embeddings.LayerNorm"},
    {"layers.#.query", "encoder.layer.#.attention.self.query"},
    {"layers.#.key", "encoder.layer.#.attention.self.key"},
    {"layers.#.value", "encoder.layer.#.attention.self.value"},
    {"layers.#.output", "encoder.layer.#.attention.output.dense"},
    {"layers.#.attention_post_norm", "encoder.layer.#.attention.output.LayerNorm"},
    {"layers.#.up", "encoder.layer.#.intermediate.dense"},
    {"layers.#.down", "encoder.layer.#.output.dense"},
    {"layers.#.mlp_post_norm", "encoder.layer.#.output.LayerNorm"},
    {"head_dense", "/cls.predictions.transform.dense"},
    {"head_norm", "/cls.predictions.transform.LayerNorm"},
    {"head", "/cls.predictions.decoder"},
    {"head_bias", "/cls.predictions"},
};

const std::vector<StoredName> kRobertaNames = with(kBertNames, {
                                                                   {"head_dense", "/lm_head.dense"},
                                                                   {"head_norm", "/lm_head.layer_norm"},
                                                                   {"head", "/lm_head.decoder"},
                                                                   {"head_bias", "/lm_head"},
                                                               });

const std::vector<StoredName> kDistilbertNames = {
    {"tokens", "embeddings.word_embeddings"},
    {"positions", "embeddings.position_embeddings"},
    {"embedding_norm", "embeddings.LayerNorm"},
    {"layers.#.query", "transformer.layer.#.attention.q_lin"},
    {"layers.#.key", "transformer.layer.#.attention.k_lin"},
    {"layers.#.value", "transformer.layer.#.attention.v_lin"},
    {"layers.#.output", "transformer.layer.#.attention.out_lin"},
    {"layers.#.attention_post_norm", "transformer.layer.#.sa_layer_norm"},
    {"layers.#.up", "transformer.layer.#.ffn.lin1"},
    {"layers.#.down", "transformer.layer.#.ffn.lin2"},
    {"layers.#.mlp_post_norm", "transformer.layer.#.output_layer_norm"},
    {"head_dense", "/vocab_transform"},
    {"head_norm", "/vocab_layer_norm"},
    {"head", "/vocab_projector"},
    {"head_bias", "/vocab_projector"},
};

std::vector<StoredName> own_names() {
  std::vector<StoredName> out;
  for (const char* name : {"tokens", "embedding_norm", "positions", "layers.#.attention_norm", "layers.#.query",
                           "layers.#.key", "layers.#.value", "layers.#.output", "layers.#.relative",
                           "layers.#.mlp_norm", "layers.#.gate", "layers.#.up", "layers.#.down", "final_norm", "head"})
    out.push_back({name, name});
  return out;
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<const char*> decoder = {"model.", ""};
  static const std::vector<Family> table = {
      {"gpt2", gpt2, {"transformer.", ""}, kGpt2Names},
      {"gpt_neox", gpt_neox, {"gpt_neox.", ""}, kNeoxNames},
      {"llama", llama, decoder, kLlamaNames},
      {"mistral", mistral, decoder, kLlamaNames},
      {"qwen2", qwen2, decoder, kLlamaNames},
      {"qwen3", qwen3, decoder, kLlamaNames},
      {"gemma2", gemma2, decoder, kGemma2Names},
      {"gemma3_text", gemma3, decoder, kGemma2Names},
      {"olmo2", olmo2, decoder, kOlmo2Names},
      {"smollm3", smollm3, decoder, kLlamaNames},
      {"granite", granite, decoder, kLlamaNames},
      {"bert", bert, {"bert.", ""}, kBertNames},
      {"distilbert", distilbert, {"distilbert.", ""}, kDistilbertNames},
      {"roberta", roberta, {"roberta.", ""}, kRobertaNames},
      {"isentropic", own, {""}, own_names()},
  };
  return table;
}

const Family* find_family(const std::string& model_type) {
  const auto found = std::ranges::find_if(families(), [&](const Family& x) { return model_type == x.model_type; });
  return found == families().end() ? nullptr : &*found;
}

const Family& family_of(const Config& config) {
  const std::string type = config.text("model_type");
  if (const Family* found = find_family(type)) return *found;
  std::vector<std::string> known;
  for (const Family& family : families()) known.emplace_back(family.model_type);
  throw Error(config.place("model_type"), in_quotes(type),
              list_of(known) + " (the Python package takes any Hugging Face model)");
}

Description describe(const Config& config) {
  const Family& family = family_of(config);
  Description out;
  out.family = family.model_type;
  family.describe(config, out);
  read_own_section(config, out);
  return out;
}

}  // namespace isentropic::model
