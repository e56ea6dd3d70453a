// How well a model predicts a text: exp of the mean cross-entropy of its tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/transformer.hpp"

namespace isentropic::lab {

struct PerplexityOptions {
  std::int64_t length = 0;  // tokens per window; windows do not overlap and are independent
  std::function<void(double share)> progress = nullptr;
};

struct Perplexity {
  std::int64_t length = 0, windows = 0;
  std::int64_t tokens = 0;  // predicted tokens
  double loss = 0;          // mean, nats
  double entropy = 0;       // mean of H over layers, heads and rows
  double normalised_entropy = 0;
};

// Over the windows that fit into the text; the remainder is left out. Throws Error if the text has fewer than two
// tokens or is shorter than `length`.
Perplexity perplexity(const model::Transformer& model, const std::vector<std::int32_t>& tokens,
                      const PerplexityOptions& options);

// The loss of the same tokens, the last ones of every window of the longest length, after contexts of several lengths,
// so that lengths can be compared.
std::vector<Perplexity> perplexity_by_length(const model::Transformer& model, const std::vector<std::int32_t>& tokens,
                                             const std::vector<std::int64_t>& lengths,
                                             const PerplexityOptions& options);

}  // namespace isentropic::lab
