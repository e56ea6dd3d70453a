// Damaged config.json files, parsed into model descriptions: fuzz_model SECONDS [FIRST INPUT].
#include <stdexcept>

#include "fuzz/run_for.hpp"
#include "model/families.hpp"

namespace isentropic::model {
namespace {

// The sizes in all spellings, plus what particular families read.
std::string config(const std::string& family, const std::string& rest) {
  return R"({"model_type":")" + family + R"(","vocab_size":97,"hidden_size":48,"n_embd":48,"dim":48,)" +
         R"("intermediate_size":80,"hidden_dim":80,"num_hidden_layers":3,"n_layer":3,"n_layers":3,)" +
         R"("num_attention_heads":4,"n_head":4,"n_heads":4,"num_key_value_heads":2,"max_position_embeddings":128,)" +
         R"("n_positions":128,)" + rest + "}";
}

std::vector<std::string> examples() {
  const std::string yarn = R"({"rope_type":"yarn","rope_theta":1e4,"factor":4.0,"mscale":0.7,"mscale_all_dim":1.1,)"
                           R"("original_max_position_embeddings":32,"beta_fast":32,"truncate":false})";
  const std::string llama3 = R"({"type":"llama3","factor":8,"low_freq_factor":1.0,"high_freq_factor":4.0})";
  return {
      config("gpt2", R"("activation_function":"gelu_new","n_inner":null,"scale_attn_by_inverse_layer_idx":true)"),
      config("gpt_neox", R"("rotary_pct":0.5,"rotary_emb_base":10000,"use_parallel_residual":false)"),
      config("llama", R"("rope_parameters":)" + yarn),
      config("llama", R"("rope_scaling":)" + llama3 + R"(,"head_dim":20,"tie_word_embeddings":true,"mlp_bias":true)"),
      config("mistral", R"("sliding_window":7)"),
      config("qwen2", R"("use_sliding_window":true,"sliding_window":5,"max_window_layers":1)"),
      config("qwen3", R"("head_dim":16,"layer_types":["full_attention","sliding_attention","full_attention"])"),
      config("gemma2", R"("head_dim":16,"query_pre_attn_scalar":24,"attn_logit_softcapping":50.0)"),
      config("gemma3_text", R"("rope_parameters":{"full_attention":)" + yarn + R"(,"sliding_attention":{}})"),
      config("olmo2", R"("rms_norm_eps":1e-5)"),
      config("smollm3", R"("no_rope_layers":[1,0,1],"no_rope_layer_interval":4)"),
      config("granite", R"("embedding_multiplier":12.0,"logits_scaling":8.0,"attention_multiplier":0.1)"),
      config("bert", R"("type_vocab_size":2,"position_embedding_type":"absolute","is_decoder":false)"),
      config("distilbert", R"("activation":"gelu")"),
      config("roberta", R"("pad_token_id":1,"layer_norm_eps":1e-5)"),
      config("isentropic",
             R"("norm":"layer","positions":"relative","relative_distance":16,"causal":true,"norm_eps":0)"),
      config("llama", R"("isentropic":{"scale":{"law":"log_n","kappa":1.5},"map":{"name":"top_k","keys":8},)"
                      R"("scale_values":[[1,2,3,4],[1,2,3,4],[1,2,3,4.5]]})"),
  };
}

void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

// Invariants that building a network relies on.
void check(const Description& model) {
  for (const std::int64_t size : {model.vocabulary, model.width, model.heads, model.kv_heads, model.head_width,
                                  model.mlp_width, model.trained_length})
    require(size >= 1, "a size below 1");
  require(!model.layers.empty() && model.heads % model.kv_heads == 0, "no layers, or heads without keys");
  for (const Layer& layer : model.layers) {
    require(!layer.window || *layer.window >= 1, "a window without keys");
    require(!layer.rotary || *layer.rotary < model.rotary.size(), "rotary positions that are not described");
  }
  for (const Rotary& rotary : model.rotary)
    require(rotary.dimensions >= 2 && rotary.dimensions <= model.head_width, "rotary features beyond the head");
  require(model.scale_values.empty() || model.scale_values.size() == model.layers.size(), "scales of other layers");
}

}  // namespace
}  // namespace isentropic::model

int main(int count, char** arguments) {
  using namespace isentropic;
  return fuzz::run_for(count, arguments, fuzz::Mutator(model::examples()), [](const std::string& input) {
    model::check(model::describe(checkpoint::Config::parse("input", input)));
  });
}
