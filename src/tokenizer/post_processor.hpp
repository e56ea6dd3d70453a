// Post-processors: which special tokens stand around a text.
//
//   TemplateProcessing                  the template for a single text: special tokens by their ids, and the text
//   BertProcessing, RobertaProcessing   cls, the text, sep
//   ByteLevel                           changes offsets, of which there are none here
//   Sequence                            one after the other; one of them at most may add tokens
#pragma once

#include "tokenizer/json_access.hpp"
#include "tokenizer/vocabulary.hpp"

namespace isentropic::tokenizer {

class PostProcessor {
 public:
  PostProcessor() : template_{kText} {}
  // Throws Error for a type that is not known, and for ids of `vocabulary_size` or more.
  PostProcessor(const Field& field, std::int32_t vocabulary_size);

  Ids apply(Ids ids, bool add_special_tokens) const;

 private:
  static constexpr std::int32_t kText = -1;

  std::vector<std::int32_t> template_;  // ids, and kText where the text stands
};

}  // namespace isentropic::tokenizer
