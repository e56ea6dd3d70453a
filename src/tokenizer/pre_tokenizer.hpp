// Pre-tokenizers: split a normalised text into the words that the model sees.
//
//   BertPreTokenizer   at white space, and around punctuation     Whitespace        \w+ and [^\w\s]+
//   ByteLevel          GPT-2's pattern, bytes as characters       WhitespaceSplit   at white space
//   Digits             around numbers, or around each digit       Punctuation       around punctuation
//   Metaspace          spaces become U+2581, words start at it    Split             at a pattern
//   Sequence           several in sequence
#pragma once

#include <functional>
#include <memory>

#include "tokenizer/json_access.hpp"
#include "tokenizer/piece.hpp"

namespace isentropic::tokenizer {

using EmitPiece = std::function<void(Piece)>;

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Emits the words of `piece` in order, none of them empty. They are valid only during the call to `emit`.
  virtual void split(Piece piece, const EmitPiece& emit) const = 0;
};

// Throws Error for an unknown type or a missing field.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Field& field);

// GPT-2's, which the trainer uses.
std::unique_ptr<PreTokenizer> byte_level_pre_tokenizer(bool add_prefix_space);

}  // namespace isentropic::tokenizer
