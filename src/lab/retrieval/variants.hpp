// What a retrieval study compares: a score map under a scale law, and what of them is learnt or left out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "isentropic/score_map.hpp"

namespace isentropic::lab::retrieval {

struct Variant {
  std::string scale = "inverse_sqrt_d", map = "softmax";  // as words.hpp has them
  bool learnt_scale = false;                              // every number of the law, for each head
  bool learnt_map = false;                                // alpha of entmax, for each head
  bool key_bias = true;       // false: no bias on the way from a token to its key (model.hpp)
  std::int64_t features = 0;  // of queries and keys in a head, before phi; 0: width / heads

  // "relu_squared without key bias, log_n": the scale is left out where it changes nothing.
  std::string label() const;
  // The same for a page, which sets formulas: laws by their formulas, no underscores.
  std::string title() const;

  bool operator==(const Variant&) const = default;
};

// Whether a scale changes more than rounding. It cancels where weights that are multiples of it are normalised by l1 or
// l2 (linear features, relu_squared over l1), and decay does not look at scores.
bool scale_matters(const ScoreMap& map);

nlohmann::ordered_json json_of(const Variant& variant);

struct Study;

// In the order in which they are trained: softmax under every scale; every map, then those with a learnt number and
// those without a key bias, under inverse_sqrt_d and log_n where a scale matters; linear maps at every feature size.
std::vector<Variant> variants_of(const Study& study);

}  // namespace isentropic::lab::retrieval
