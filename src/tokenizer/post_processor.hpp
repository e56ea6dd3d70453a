// Post-processors: put special tokens around a text.
//
//   TemplateProcessing                  the template for a single text: special tokens by their ids, and the text
//   BertProcessing, RobertaProcessing   cls, the text, sep
//   ByteLevel                           only changes offsets, which do not exist here
//   Sequence                            several in sequence; at most one of them may add tokens
#pragma once

#include "tokenizer/json_access.hpp"
#include "tokenizer/vocabulary.hpp"

namespace isentropic::tokenizer {

class PostProcessor {
 public:
  PostProcessor() : template_{kText} {}
  // Throws Error for an unknown type and for ids of `vocabulary_size` or more.
  PostProcessor(const Field& field, std::int32_t vocabulary_size);

  Ids apply(Ids ids, bool add_special_tokens) const;

 private:
  static constexpr std::int32_t kText = -1;

  std::vector<std::int32_t> template_;  // ids, and kText in place of the text
};

}  // namespace isentropic::tokenizer
