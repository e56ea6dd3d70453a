// Reads sizes, positions, windows and names of activations from config.json.
#include "model/config_fields.hpp"

#include <algorithm>
#include <cmath>

#include "base/list_of.hpp"
#include "base/one_line.hpp"
#include "isentropic/error.hpp"

namespace isentropic::model {
namespace {

using checkpoint::Config;
using checkpoint::Field;

// Far above any real model, and products of two stay far from overflow.
constexpr checkpoint::IntegerRange kSize{.least = 1, .most = std::int64_t{1} << 30};
constexpr checkpoint::IntegerRange kCount{.least = 1, .most = 1 << 16};

}  // namespace

std::int64_t read_width(const Config& config) { return config.integer({"hidden_size", "n_embd", "dim"}, kSize); }

void read_sizes(const Config& config, Description& out, const SizeDefaults& defaults) {
  out.vocabulary = config.integer("vocab_size", kSize);
  out.width = read_width(config);
  out.layers.resize(static_cast<std::size_t>(config.integer({"num_hidden_layers", "n_layer", "n_layers"}, kCount)));
  out.heads = config.integer({"num_attention_heads", "n_head", "n_heads"}, kCount);
  out.kv_heads = config.find_integer("num_key_value_heads", kCount).value_or(out.heads);
  if (out.heads % out.kv_heads != 0)
    throw Error(config.place("num_key_value_heads"), std::to_string(out.kv_heads),
                "a divisor of the number of heads, " + std::to_string(out.heads));
  if (!config.has("head_dim") && out.width % out.heads != 0)
    throw Error(config.place("hidden_size"), std::to_string(out.width),
                "a multiple of the number of heads, " + std::to_string(out.heads));
  out.head_width = config.find_integer("head_dim", kSize).value_or(out.width / out.heads);
  const Field mlp = {"intermediate_size", "n_inner", "hidden_dim"};
  out.mlp_width =
      defaults.mlp_width ? config.find_integer(mlp, kSize).value_or(*defaults.mlp_width) : config.integer(mlp, kSize);
  out.trained_length = config.integer(defaults.length_fields, kSize);
}

Activation read_activation(const Config& config, const Field& field, const char* usual) {
  const std::string name = config.find_text(field).value_or(usual);
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::gelu_tanh;
  if (name == "relu") return Activation::relu;
  if (name == "silu" || name == "swish") return Activation::silu;
  throw Error(config.place(field.spellings.front()), in_quotes(name),
              list_of({"gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "relu", "silu", "swish"}));
}

bool read_tied(const Config& config, bool usual) { return config.find_boolean("tie_word_embeddings").value_or(usual); }

void read_query_scale(const Config& config, Description& out) {
  const double squared = config.find_number("query_pre_attn_scalar", {.least = 1e-30}).value_or(256);
  out.scale = Scale::constant(1 / std::sqrt(squared));
}

void read_windows(const Config& config, Description& out, const std::function<bool(std::size_t)>& slides,
                  std::optional<std::int64_t> usual) {
  const auto types = config.find_texts("layer_types");
  if (types && types->size() != out.layers.size())
    throw Error(config.place("layer_types"), "a list of " + std::to_string(types->size()),
                "one for each of " + std::to_string(out.layers.size()) + " layers");
  std::optional<std::int64_t> window = config.find_integer("sliding_window", kSize);
  // sliding_window: null means no window; if it is absent, the default applies.
  if (!window && !config.mentions("sliding_window")) window = usual;
  for (std::size_t i = 0; i < out.layers.size(); ++i) {
    if (types && (*types)[i] != "sliding_attention" && (*types)[i] != "full_attention")
      throw Error(config.place("layer_types"), "with '" + (*types)[i] + "'", "sliding_attention or full_attention");
    const bool has_window = types ? (*types)[i] == "sliding_attention" : slides(i);
    out.layers[i].window = has_window ? window : std::nullopt;
  }
}

void require_absolute_positions(const Config& config) {
  const std::string type = config.find_text("position_embedding_type").value_or("absolute");
  if (type != "absolute") throw Error(config.place("position_embedding_type"), in_quotes(type), "absolute");
}

}  // namespace isentropic::model
