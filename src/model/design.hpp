// New models: a description out of a few choices, in a family that transformers reads where there is one.
//
//   rms norm     gated MLP (silu), no biases        as llama (rotary positions) and smollm3 (none, or windows)
//   layer norm   plain MLP (gelu), biases           as gpt2 (learned positions); bidirectional: as bert
#pragma once

#include <cstdint>
#include <string>

#include "model/description.hpp"

namespace isentropic::model {

// By name: "rms" or "layer"; "none", "rotary", "learned", "sinusoidal", "alibi" or "relative". Error: the known ones.
NormKind norm_named(const std::string& name);
Positions positions_named(const std::string& name);
std::string name(NormKind kind);
std::string name(Positions positions);

// Layers with a window, and every `global_every`-th layer (0: no layer) without one. Rotary positions then turn the
// layers with a window alone, so that no distance is longer than those of training. Nothing if `window` is 0.
struct Windows {
  std::int64_t window = 0, global_every = 0;
};

// Fills in all but the sizes, which `out` has. Bidirectional models with a layer norm and learned positions are BERT.
void design(Description& out, NormKind norm, Positions positions, bool causal, Windows windows = {});

}  // namespace isentropic::model
