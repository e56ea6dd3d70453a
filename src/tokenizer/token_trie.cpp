// A trie over bytes, tried at every position where a token may start.
#include "tokenizer/token_trie.hpp"

namespace isentropic::tokenizer {
namespace {

std::uint64_t key_of(std::uint32_t node, char byte) {
  return (std::uint64_t{node} << 8) | static_cast<unsigned char>(byte);
}

}  // namespace

void TokenTrie::add(std::string_view token, std::int32_t id) {
  if (token.empty()) return;
  is_first_byte_[static_cast<unsigned char>(token[0])] = true;
  std::uint32_t node = 0;
  for (const char byte : token) {
    const auto [child, added] = children_.emplace(key_of(node, byte), static_cast<std::uint32_t>(ids_.size()));
    if (added) ids_.push_back(-1);
    node = child->second;
  }
  if (ids_[node] < 0) ids_[node] = id;
}

std::optional<TokenTrie::Match> TokenTrie::find(std::string_view text, std::size_t position) const {
  for (std::size_t start = position; start < text.size(); ++start) {
    if (!is_first_byte_[static_cast<unsigned char>(text[start])]) continue;
    std::optional<Match> longest;
    std::uint32_t node = 0;
    for (std::size_t end = start; end < text.size();) {
      const auto child = children_.find(key_of(node, text[end]));
      if (child == children_.end()) break;
      node = child->second;
      ++end;
      if (ids_[node] >= 0) longest = {start, end, ids_[node]};
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

}  // namespace isentropic::tokenizer
