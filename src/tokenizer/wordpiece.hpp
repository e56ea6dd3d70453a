// WordPiece, BERT's model: from the left, takes the longest piece of the word that is in the vocabulary; pieces after
// the first carry a prefix.
//
// "unaffable" with un, ##aff, ##able is un ##aff ##able. A word that cannot be fully split this way, or that has more
// characters than max_input_chars_per_word, becomes the unknown token.
#pragma once

#include "tokenizer/model.hpp"

namespace isentropic::tokenizer {

class WordPiece : public Model {
 public:
  explicit WordPiece(const Field& field);
  void encode(std::string_view word, Ids* ids) const override;

 private:
  std::string prefix_;
  std::size_t maximum_characters_;
  std::int32_t unknown_;
};

}  // namespace isentropic::tokenizer
