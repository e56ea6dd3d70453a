// WordPiece, the model of BERT: from the left, the longest piece of the word that is in the vocabulary; pieces after
// the first are written with a prefix.
//
// "unaffable" with un, ##aff, ##able is un ##aff ##able. A word that cannot be written so to its end, or that has more
// characters than max_input_chars_per_word, is the unknown token.
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
