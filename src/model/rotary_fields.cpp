// Reads rotary positions from config.json: rope_theta, rope_scaling and rope_parameters in their old and new forms.
#include <algorithm>

#include "base/one_line.hpp"
#include "isentropic/error.hpp"
#include "model/config_fields.hpp"
#include "model/rotary.hpp"

namespace isentropic::model {
namespace {

using checkpoint::Config;
using checkpoint::Field;
using Scaling = Rotary::Scaling;

constexpr checkpoint::NumberRange kPositive{.least = 1e-12, .most = 1e12};

Scaling scaling_named(const Config& section) {
  const std::string name = section.find_text({"rope_type", "type"}).value_or("default");
  if (name == "default") return Scaling::none;
  if (name == "linear") return Scaling::linear;
  if (name == "llama3") return Scaling::llama3;
  if (name == "yarn") return Scaling::yarn;
  throw Error(section.place("rope_type"), in_quotes(name), "default, linear, llama3 or yarn");
}

void read_yarn(const Config& section, Rotary& out) {
  out.beta_fast = section.find_number("beta_fast", kPositive).value_or(32);
  out.beta_slow = section.find_number("beta_slow", kPositive).value_or(1);
  out.truncate = section.find_boolean("truncate").value_or(true);
  out.attention_factor = section.find_number("attention_factor", kPositive);
  const double m = section.find_number("mscale").value_or(0), all = section.find_number("mscale_all_dim").value_or(0);
  if (!out.attention_factor && m != 0 && all != 0)
    out.attention_factor = yarn_amplitude(out.factor, m) / yarn_amplitude(out.factor, all);
}

void read_scaling(const Config& section, std::int64_t trained_length, Rotary& out) {
  out.scaling = scaling_named(section);
  if (out.scaling == Scaling::none) return;
  out.original_length = section.find_integer("original_max_position_embeddings", {.least = 1}).value_or(trained_length);
  out.factor = section.find_number("factor", kPositive)
                   .value_or(static_cast<double>(trained_length) / static_cast<double>(out.original_length));
  if (out.scaling == Scaling::yarn) read_yarn(section, out);
  if (out.scaling != Scaling::llama3) return;
  out.low_frequency = section.number("low_freq_factor", kPositive);
  out.high_frequency = section.number("high_freq_factor", kPositive);
  if (out.high_frequency <= out.low_frequency)
    throw Error(section.place("high_freq_factor"), std::to_string(out.high_frequency), "more than low_freq_factor");
}

// `section`: rope_scaling or rope_parameters; a value there takes precedence over the same one outside.
Rotary rotary_of(const Config& config, const std::optional<Config>& section, const Description& model,
                 const Field& theta, const RotaryDefaults& defaults) {
  const auto number = [&](const Field& inside, const Field& outside, double usual) {
    const auto found = section ? section->find_number(inside, kPositive) : std::nullopt;
    return found ? *found : config.find_number(outside, kPositive).value_or(usual);
  };
  Rotary out;
  out.theta = number("rope_theta", theta, defaults.theta);
  const double partial = number("partial_rotary_factor", {"partial_rotary_factor", "rotary_pct"}, defaults.partial);
  out.dimensions = static_cast<std::int64_t>(static_cast<double>(model.head_width) * std::min(partial, 2.0));
  if (out.dimensions < 2 || out.dimensions % 2 != 0 || out.dimensions > model.head_width)
    throw Error(config.place("head_dim"),
                std::to_string(model.head_width) + ", of which " + std::to_string(out.dimensions) + " turn",
                "an even number of rotary features, at most all of them");
  if (section) read_scaling(*section, model.trained_length, out);
  return out;
}

}  // namespace

void read_rotary(const Config& config, Description& out, const RotaryDefaults& defaults) {
  const std::optional<Config> section = config.find_section({"rope_scaling", "rope_parameters"});
  out.positions = Positions::rotary;
  const bool by_layer_type = section && (section->has("full_attention") || section->has("sliding_attention"));
  out.rotary = {
      rotary_of(config, by_layer_type ? std::nullopt : section, out, {"rope_theta", "rotary_emb_base"}, defaults)};
  for (Layer& layer : out.layers) layer.rotary = 0;
}

void read_rotary_by_window(const Config& config, Description& out) {
  const std::optional<Config> parameters = config.find_section("rope_parameters");
  const auto of = [&](const char* type) { return parameters ? parameters->find_section(type) : std::nullopt; };
  std::optional<Config> full = of("full_attention");
  if (!full) full = config.find_section("rope_scaling");
  out.rotary = {
      rotary_of(config, of("sliding_attention"), out, "rope_local_base_freq", {.theta = 10000}),
      rotary_of(config, full, out, "rope_theta", {.theta = 1000000}),
  };
  for (Layer& layer : out.layers) layer.rotary = layer.window ? 0 : 1;
}

std::vector<bool> read_rotary_layers(const Config& config, std::size_t layers) {
  std::vector<bool> out;
  if (const auto listed = config.find_integers("no_rope_layers", {.least = 0, .most = 1})) {
    if (listed->size() != layers)
      throw Error(config.place("no_rope_layers"), "a list of " + std::to_string(listed->size()),
                  "one for each of " + std::to_string(layers) + " layers");
    for (const std::int64_t turns : *listed) out.push_back(turns != 0);
    return out;
  }
  const auto interval =
      static_cast<std::size_t>(config.find_integer("no_rope_layer_interval", {.least = 1}).value_or(4));
  for (std::size_t i = 0; i < layers; ++i) out.push_back((i + 1) % interval != 0);
  return out;
}

}  // namespace isentropic::model
