// Continues a text token by token, with a cache.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/transformer.hpp"

namespace isentropic::lab {

struct GenerationOptions {
  std::int64_t tokens = 100;
  bool greedy = false;       // the most likely token; otherwise drawn
  double temperature = 1.0;  // > 0: logits are divided by it
  double top_p = 1.0;        // drawn from the fewest tokens that together have this probability
  std::uint64_t seed = 1;
  std::vector<std::int64_t> ends = {};  // ids that end the text
};

// Calls `put` with every new id until it returns false, an end comes, or there are enough. Throws Error for a prompt
// without tokens.
void generate(const model::Transformer& model, const std::vector<std::int32_t>& prompt,
              const GenerationOptions& options, const std::function<bool(std::int32_t id)>& put);

}  // namespace isentropic::lab
