// Tokens and their ids, in both directions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/json_access.hpp"

namespace isentropic::tokenizer {

using Ids = std::vector<std::int32_t>;

struct TokenHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <typename Value>
using TokenMap = std::unordered_map<std::string, Value, TokenHash, std::equal_to<>>;

// Ids may have gaps, but may not exceed four per token plus 65536: the highest id determines the size of a model's
// tables, and a small file must not be able to request large ones.
class Vocabulary {
 public:
  // From {"token": id, ...}. Throws Error for an id that is negative, too large for the number of tokens, or repeated.
  static Vocabulary read(const Field& field);

  // Returns false if the token or the id already exists.
  bool add(const std::string& token, std::int32_t id);

  std::optional<std::int32_t> id_of(std::string_view token) const;
  // Null if no token has the id.
  const std::string* token_of(std::int64_t id) const;

  std::size_t tokens() const { return ids_.size(); }
  // The highest id + 1.
  std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }

 private:
  TokenMap<std::int32_t> ids_;
  std::vector<const std::string*> tokens_;  // point to the keys of ids_, which do not move
};

}  // namespace isentropic::tokenizer
