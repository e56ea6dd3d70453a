// Added tokens: cut out of the text before the model sees it.
//
//   normalized    matched in the normalised text, by their own normalised form; the others in the original text
//   single_word   only with no word character (\w) on either side
//   lstrip, rstrip   also take the white space before or after them
//   special       omitted when decoding skips special tokens
//
// At each position the longest token wins. A token that the model knows keeps the model's id; the others are numbered
// from there in file order, as Hugging Face's tokenizers does whatever ids the file gives. So other ids are rejected.
#pragma once

#include <functional>
#include <map>
#include <unordered_set>

#include "tokenizer/model.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/token_trie.hpp"

namespace isentropic::tokenizer {

class AddedTokens {
 public:
  AddedTokens() = default;
  // `normalizer` may be null.
  AddedTokens(const Field& field, const Vocabulary& model, const Normalizer* normalizer);

  // The parts of a text in order: `on_token` for tokens, `on_text` for the text between them.
  using OnToken = std::function<void(std::int32_t)>;
  using OnText = std::function<void(Piece)>;
  void cut(Piece text, const OnToken& on_token, const OnText& on_text) const {
    cut_by(plain_, text, on_token, on_text);
  }
  void cut_normalized(Piece text, const OnToken& on_token, const OnText& on_text) const {
    cut_by(normalized_, text, on_token, on_text);
  }

  std::optional<std::int32_t> id_of(std::string_view token) const;
  // As decoding sees it: in normalised form if that is how it is matched. Null if it is not an added token.
  const std::string* token_of(std::int64_t id) const;
  // By text rather than id, as Hugging Face does.
  bool is_special(const std::string& token) const { return special_.contains(token); }
  // The highest id + 1; 0 without tokens.
  std::int32_t size() const { return tokens_.empty() ? 0 : tokens_.rbegin()->first + 1; }

 private:
  struct Token {
    std::string content, decoded;
    bool single_word, lstrip, rstrip, normalized;
  };

  void add(const Field& field, const Vocabulary& model, const Normalizer* normalizer);
  std::int32_t next_id(const Vocabulary& model) const;
  void cut_by(const TokenTrie& trie, Piece text, const OnToken& on_token, const OnText& on_text) const;

  std::map<std::int32_t, Token> tokens_;
  TokenMap<std::int32_t> ids_;
  std::unordered_set<std::string> special_;
  TokenTrie plain_, normalized_;
};

}  // namespace isentropic::tokenizer
