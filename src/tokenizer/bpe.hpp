// Byte-pair encoding: a word starts as single characters, and neighbouring pairs are merged until no rule applies.
// Rules earlier in `merges` take precedence, and among equal pairs the leftmost.
//
// With the rules (a b), (ab a), "ababa" is a b a b a -> ab ab a -> ab aba. The pairs wait in a queue and the symbols
// form a linked list, so a merge takes logarithmic time. A word may therefore be as long as a text, as it is without a
// pre-tokenizer; it is then cut where no rule can ever join the two sides, which does not change the result and keeps
// the queues short.
//
//   ignore_merges         a word that is itself a token becomes that token
//   byte_fallback         a character without a token becomes its bytes, "<0xE2>" ..., if all of them are tokens
//   unk_token, fuse_unk   otherwise it becomes the unknown token, one per run if fused; without unk_token it is dropped
//   continuing_subword_prefix, end_of_word_suffix   decorate the characters after the first, and the last
//
// dropout, which omits merges at random, is for training only. Hugging Face's tokenizers applies it whenever it is set,
// so a file with a dropout above 0 has no deterministic encoding and is rejected.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>

#include "tokenizer/model.hpp"

namespace isentropic::tokenizer {

class Bpe : public Model {
 public:
  explicit Bpe(const Field& field);
  void encode(std::string_view word, Ids* ids) const override;

 private:
  struct Rule {
    std::int32_t rank, merged;
  };
  struct Symbol {
    std::int32_t id, previous, next;  // positions in the list, -1: none; id is -1 once merged away
  };

  void read_merges(const Field& field);
  void add_merge(const Field& merges, std::size_t rank);
  Ids symbols_of(std::string_view word) const;
  std::optional<std::int32_t> id_of_character(std::string_view character, bool first, bool last) const;
  bool append_bytes(std::string_view character, Ids* ids) const;
  std::int32_t unknown() const;
  const Rule* rule_for(std::int32_t left, std::int32_t right) const;
  void find_joinable();
  void merge(std::span<const std::int32_t> symbols, Ids* ids) const;

  std::unordered_map<std::uint64_t, Rule> rules_;  // by pair
  // Pairs that some rule can join: the last symbol of its left part and the first symbol of its right part.
  std::unordered_set<std::uint64_t> joinable_;
  std::vector<std::int32_t> ids_of_bytes_;  // of "<0x00>" ...; -1: no such token
  std::string prefix_, suffix_;
  std::optional<std::string> unknown_token_;
  bool fuse_unknown_, byte_fallback_, ignore_merges_;
};

}  // namespace isentropic::tokenizer
