// Normalisers: transform a text before it is split.
//
//   NFC NFD NFKC NFKD    normal forms of Unicode            Lowercase       character by character
//   Strip                white space at the ends            StripAccents    removes marks
//   Replace              {"String" | "Regex"} by content    Prepend         before a text that is not empty
//   ByteLevel            bytes as printable characters      Sequence        several in sequence
//   BertNormalizer       clean_text, handle_chinese_chars, strip_accents (null: same as lowercase), lowercase
//
// Nmt and Precompiled (SentencePiece's tables) are rejected.
#pragma once

#include <memory>

#include "tokenizer/json_access.hpp"
#include "tokenizer/piece.hpp"

namespace isentropic::tokenizer {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(Text* text) const = 0;
};

// Throws Error for an unknown type or a missing field.
std::unique_ptr<Normalizer> read_normalizer(const Field& field);

}  // namespace isentropic::tokenizer
