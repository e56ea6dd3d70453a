// Models: turn a word into ids.
//
//   BPE         pairs of symbols are merged, the earliest rule first: bpe.hpp
//   WordPiece   the longest piece first, from the left: wordpiece.hpp
#pragma once

#include <memory>

#include "tokenizer/vocabulary.hpp"

namespace isentropic::tokenizer {

class Model {
 public:
  explicit Model(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~Model() = default;

  // Appends the ids of a word, which must be valid UTF-8.
  virtual void encode(std::string_view word, Ids* ids) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
};

// Throws Error, listing the known types, for an unknown one. Old files have no type: it is inferred from their fields.
std::unique_ptr<Model> read_model(const Field& field);

}  // namespace isentropic::tokenizer
