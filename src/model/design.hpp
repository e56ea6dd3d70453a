// New models: a description out of a few choices, in a family that transformers reads where there is one.
//
//   rms norm     gated MLP (silu), no biases        as llama (rotary positions) and smollm3 (none)
//   layer norm   plain MLP (gelu), biases           as gpt2 (learned positions); bidirectional: as bert
#pragma once

#include <string>

#include "model/description.hpp"

namespace isentropic::model {

// By name: "rms" or "layer"; "none", "rotary", "learned", "sinusoidal", "alibi" or "relative". Error: the known ones.
NormKind norm_named(const std::string& name);
Positions positions_named(const std::string& name);
std::string name(NormKind kind);
std::string name(Positions positions);

// Fills in all but the sizes, which `out` has. Bidirectional models with a layer norm and learned positions are BERT.
void design(Description& out, NormKind norm, Positions positions, bool causal);

}  // namespace isentropic::model
