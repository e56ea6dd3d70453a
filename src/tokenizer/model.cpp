// Chooses the model by its type.
#include "tokenizer/model.hpp"

#include "tokenizer/bpe.hpp"
#include "tokenizer/types.hpp"
#include "tokenizer/wordpiece.hpp"

namespace isentropic::tokenizer {

std::unique_ptr<Model> read_model(const Field& field) {
  static const Types<Model> types = {{"BPE", make<Model, Bpe>}, {"WordPiece", make<Model, WordPiece>}};
  if (!field.find("type")) {
    if (field.find("merges")) return types.at("BPE")(field);
    if (field.find("max_input_chars_per_word")) return types.at("WordPiece")(field);
  }
  return make_by_type(types, field);
}

}  // namespace isentropic::tokenizer
