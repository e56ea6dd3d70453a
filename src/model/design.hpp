// New models: a description from a few choices, in a family that transformers can read if there is one.
//
//   rms norm     gated MLP (silu), no biases        as llama (rotary positions) and smollm3 (none, or windows)
//   layer norm   plain MLP (gelu), biases           as gpt2 (learned positions); bidirectional: as bert
#pragma once

#include <cstdint>
#include <string>

#include "model/description.hpp"

namespace isentropic::model {

// By name: "rms" or "layer"; "none", "rotary", "learned", "sinusoidal", "alibi" or "relative". Errors list the names.
NormKind norm_named(const std::string& name);
Positions positions_named(const std::string& name);
std::string name(NormKind kind);
std::string name(Positions positions);

// Layers with a window, except every `global_every`-th layer (0: none). Rotary positions are then applied only in
// layers with a window, so that no rotated distance is longer than in training. No effect if `window` is 0.
struct Windows {
  std::int64_t window = 0, global_every = 0;
};

// Fills in everything except the sizes, which `out` already has. Bidirectional models with a layer norm and learned
// positions are BERT.
void design(Description& out, NormKind norm, Positions positions, bool causal, Windows windows = {});

}  // namespace isentropic::model
