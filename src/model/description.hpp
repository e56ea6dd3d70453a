// What a transformer is made of, as data: one model runs all of it, and each family fills it in (families.hpp).
//
//   x   = embedding(ids) * embedding_scale + positions
//   x   = x + residual_scale * attention(x),  x = x + residual_scale * mlp(x)     for each layer, normed per NormPlace
//   output = head(norm(x)) * logits_scale
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isentropic/scale.hpp"
#include "isentropic/score_map.hpp"

namespace isentropic::model {

//   rms     x / sqrt(mean x^2 + epsilon) * w            (or * (1 + w))
//   layer   (x - mean x) / sqrt(var x + epsilon) * w + b
enum class NormKind : std::uint8_t { rms, layer };

struct Norm {
  NormKind kind = NormKind::rms;
  double epsilon = 1e-6;
  bool one_plus_weight = false;
};

// Where the norm N is applied around a sublayer f (attention or MLP):
//   before           x + f(N(x))
//   after_sublayer   x + N(f(x))
//   around           x + N'(f(N(x)))
//   after_residual   N(x + f(x))
enum class NormPlace : std::uint8_t { before, after_sublayer, around, after_residual };

enum class Positions : std::uint8_t { none, rotary, learned, sinusoidal, alibi, relative };

// Pair t of `dimensions` is rotated by position * theta^(-2 t / dimensions), adjusted by the scaling (rotary.hpp).
struct Rotary {
  enum class Scaling : std::uint8_t { none, linear, llama3, yarn };
  std::int64_t dimensions = 0;  // the first features of a head; the rest are not rotated
  double theta = 10000;
  Scaling scaling = Scaling::none;
  double factor = 1;
  std::int64_t original_length = 0;              // llama3, yarn: the length before scaling
  double low_frequency = 1, high_frequency = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;          // yarn
  bool truncate = true;                          // yarn: round the ends of the ramp to whole dimensions
  std::optional<double> attention_factor = {};   // yarn: multiplies cosines and sines
};

enum class Activation : std::uint8_t { gelu, gelu_tanh, relu, silu };

// Queries and keys divided by their root mean square, per head or over all heads together.
enum class QueryKeyNorm : std::uint8_t { none, per_head, full_width };

// separate: three matrices. fused: one, with queries, then keys, then values. fused_by_head: one, head by head.
enum class Projections : std::uint8_t { separate, fused, fused_by_head };

// none: hidden states only. linear: logits = W x. masked_lm: logits = W norm(act(D x)) + b.
enum class Head : std::uint8_t { none, linear, masked_lm };

struct Layer {
  std::optional<std::int64_t> window = {};  // number of keys a row sees, including its own
  std::optional<std::size_t> rotary = {};   // index into Description::rotary
};

struct Description {
  std::string family;
  std::int64_t vocabulary = 0, width = 0, heads = 0, kv_heads = 0, head_width = 0, mlp_width = 0;
  std::int64_t trained_length = 0;  // max_position_embeddings
  std::vector<Layer> layers;
  bool causal = true;

  Norm norm;
  NormPlace norm_place = NormPlace::before;
  bool embedding_norm = false, final_norm = true;
  bool parallel_residual = false;  // x + attention(N(x)) + mlp(N'(x))

  Positions positions = Positions::rotary;
  std::vector<Rotary> rotary;
  std::int64_t position_offset = 0;    // learned positions: the row of the first position
  std::int64_t relative_distance = 0;  // relative positions: longer distances share a bias
  std::int64_t token_types = 0;        // rows of the token-type embedding; every token uses the first

  Projections projections = Projections::separate;
  bool query_bias = false, output_bias = false;  // query_bias: also of keys and values
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  Scale scale = Scale::inverse_sqrt_d();
  // The law's learnable parameter, per layer and head; empty: those in `scale`.
  std::vector<std::vector<double>> scale_values;
  bool learn_scale = false;             // a parameter per head, initialised to those values
  bool scale_by_inverse_layer = false;  // divided by the layer's number, counted from 1
  ScoreMap map = ScoreMap::softmax();
  std::optional<double> score_cap = {}, logits_cap = {};
  bool sinks = false;

  Activation activation = Activation::silu;
  bool gated = true, mlp_bias = false;

  double embedding_scale = 1, residual_scale = 1, logits_scale = 1;
  Head head = Head::linear;
  bool tied = false;  // the head's matrix is the embedding's
};

}  // namespace isentropic::model
