// Generates text token by token, with a cache.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/transformer.hpp"

namespace isentropic::lab {

struct GenerationOptions {
  std::int64_t tokens = 100;
  bool greedy = false;       // take the most likely token; otherwise sample
  double temperature = 1.0;  // > 0: logits are divided by it
  double top_p = 1.0;        // sample from the fewest tokens that together have this probability
  std::uint64_t seed = 1;
  std::vector<std::int64_t> ends = {};  // ids that end the text
};

// Calls `put` with every new id until `put` returns false, an end id is drawn, or `tokens` ids have been generated.
// Throws Error for a prompt without tokens.
void generate(const model::Transformer& model, const std::vector<std::int32_t>& prompt,
              const GenerationOptions& options, const std::function<bool(std::int32_t id)>& put);

}  // namespace isentropic::lab
