// The fields of config.json that families share, read into a description under any of their spellings.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/config.hpp"
#include "model/description.hpp"

namespace isentropic::model {

std::int64_t read_width(const checkpoint::Config& config);

struct SizeDefaults {
  std::optional<std::int64_t> mlp_width = {};  // absent: config.json must give it
  checkpoint::Field length_fields = {"max_position_embeddings", "n_positions"};
};
// Vocabulary size, width, layers, heads, kv heads, head width, MLP width, training length.
void read_sizes(const checkpoint::Config& config, Description& out, const SizeDefaults& defaults = {});

Activation read_activation(const checkpoint::Config& config, const checkpoint::Field& field, const char* usual);
bool read_tied(const checkpoint::Config& config, bool usual);

// query_pre_attn_scalar x: the scale is 1 / sqrt(x); 256 by default.
void read_query_scale(const checkpoint::Config& config, Description& out);

struct RotaryDefaults {
  double theta = 10000;
  double partial = 1;  // the fraction of a head's features that are rotated
};
// The same rotary embedding for all layers.
void read_rotary(const checkpoint::Config& config, Description& out, const RotaryDefaults& defaults = {});
// One for layers with a window, another for the rest: rope_parameters by layer type, or rope_local_base_freq.
void read_rotary_by_window(const checkpoint::Config& config, Description& out);
// no_rope_layers (1: the layer is rotated), or no_rope_layer_interval.
std::vector<bool> read_rotary_layers(const checkpoint::Config& config, std::size_t layers);

// sliding_window for the layers that layer_types lists as "sliding_attention" or, without layer_types, `slides` picks.
void read_windows(const checkpoint::Config& config, Description& out, const std::function<bool(std::size_t)>& slides,
                  std::optional<std::int64_t> usual = {});

// Rejects old BERT checkpoints with position embeddings other than learned ones.
void require_absolute_positions(const checkpoint::Config& config);

// {"isentropic": {"scale": {...}, "map": {...}, "scale_values": [[...], ...]}}, in the format of a written problem.
void read_own_section(const checkpoint::Config& config, Description& out);

}  // namespace isentropic::model
