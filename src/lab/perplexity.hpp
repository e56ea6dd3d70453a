// How well a model predicts a text: exp of the mean cross-entropy of its tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/transformer.hpp"

namespace isentropic::lab {

struct PerplexityOptions {
  std::int64_t length = 0;  // tokens of a window; windows do not overlap and know nothing of one another
  std::function<void(double share)> progress = nullptr;
};

struct Perplexity {
  std::int64_t length = 0, windows = 0;
  std::int64_t tokens = 0;  // that were predicted
  double loss = 0;          // mean, nats
  double entropy = 0;       // mean over layers, heads and rows of H
  double normalised_entropy = 0;
};

// Of the windows that fit into the text; its rest is left out. Throws Error for a text shorter than two tokens, or
// shorter than the length.
Perplexity perplexity(const model::Transformer& model, const std::vector<std::int32_t>& tokens,
                      const PerplexityOptions& options);

// The loss of the same last tokens of the text at several lengths of what is before them, so that lengths compare.
std::vector<Perplexity> perplexity_by_length(const model::Transformer& model, const std::vector<std::int32_t>& tokens,
                                             const std::vector<std::int64_t>& lengths,
                                             const PerplexityOptions& options);

}  // namespace isentropic::lab
