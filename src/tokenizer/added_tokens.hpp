// Tokens besides those of the model, which are cut out of the text before the model sees it.
//
//   normalized    matched in the normalised text, by their own normalised form; the others in the text as it is
//   single_word   only where no word character (\w) stands on either side
//   lstrip, rstrip   take the white space before or behind with them
//   special       left out by a decoding that skips special tokens
//
// At every place the longest token wins. A token that the model knows keeps the model's id; the others are numbered on
// from there in the order of the file, as Hugging Face's tokenizers does whatever ids the file gives, so that a file
// with other ids is refused.
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

  // What a text consists of, in order: `on_token` for tokens, `on_text` for what is between them.
  using OnToken = std::function<void(std::int32_t)>;
  using OnText = std::function<void(Piece)>;
  void cut(Piece text, const OnToken& on_token, const OnText& on_text) const {
    cut_by(plain_, text, on_token, on_text);
  }
  void cut_normalized(Piece text, const OnToken& on_token, const OnText& on_text) const {
    cut_by(normalized_, text, on_token, on_text);
  }

  std::optional<std::int32_t> id_of(std::string_view token) const;
  // As decoding sees it: the normalised form where it is matched by that. Null when it is none of these.
  const std::string* token_of(std::int64_t id) const;
  // By its text, as Hugging Face does.
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
