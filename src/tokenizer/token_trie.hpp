// Finds the first occurrence of any of many tokens in a text, and the longest one that starts there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace isentropic::tokenizer {

class TokenTrie {
 public:
  struct Match {
    std::size_t start, end;
    std::int32_t id;
  };

  // Of equal tokens the first is kept. An empty token is not added.
  void add(std::string_view token, std::int32_t id);

  bool empty() const { return ids_.size() == 1; }

  // The first match at or after `position`.
  std::optional<Match> find(std::string_view text, std::size_t position) const;

 private:
  std::vector<std::int32_t> ids_ = {-1};                       // of the token that ends at a node; -1: none
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // by node and byte
  std::array<bool, 256> is_first_byte_{};
};

}  // namespace isentropic::tokenizer
