// What a retrieval study compares: a score map under a scale law, and which of their parts are learnt or left out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "isentropic/score_map.hpp"

namespace isentropic::lab::retrieval {

struct Variant {
  std::string scale = "inverse_sqrt_d", map = "softmax";  // in the notation of words.hpp
  bool learnt_scale = false;                              // every parameter of the law, per head
  bool learnt_map = false;                                // alpha of entmax, per head
  bool key_bias = true;       // false: no bias on the way from a token to its key (model.hpp)
  std::int64_t features = 0;  // of queries and keys in a head, before phi; 0: width / heads

  // "relu_squared without key bias, log_n": the scale is left out if it changes nothing.
  std::string label() const;
  // The same for a page, which typesets formulas: laws by their formulas, no underscores.
  std::string title() const;

  bool operator==(const Variant&) const = default;
};

// Whether a scale changes more than rounding. It cancels if weights that are homogeneous in it are normalised by l1 or
// l2 (linear features, relu_squared over l1), and decay ignores scores.
bool scale_matters(const ScoreMap& map);

nlohmann::ordered_json json_of(const Variant& variant);

struct Study;

// In training order: softmax under every scale; every map, then those with a learnt parameter and those without a key
// bias, under inverse_sqrt_d and log_n if the scale matters; linear maps at every feature size.
std::vector<Variant> variants_of(const Study& study);

}  // namespace isentropic::lab::retrieval
