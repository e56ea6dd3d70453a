// Texts as tokens: read, checked, encoded, and cut into what is trained on and what is held out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace isentropic::lab {

// A file of text. Throws Error unless it can be read, is UTF-8 and holds something.
std::string read_text(const std::string& path);

// FNV-1a, to notice that a text is another one.
std::uint64_t fingerprint(const std::string& text);

struct Corpus {
  std::vector<std::int32_t> train, validation;
};

// Each text is encoded without special tokens and ends with `end` (negative: with nothing). Without validation texts
// the last `held_out` of all tokens, 0 < held_out < 1, are held out. Throws Error unless both parts have more than
// `length` tokens.
struct CorpusOptions {
  std::int32_t end = -1;
  double held_out = 0.05;
  std::int64_t length = 1;
};
Corpus make_corpus(const tokenizer::Tokenizer& tokenizer, const std::vector<std::string>& train,
                   const std::vector<std::string>& validation, const CorpusOptions& options);

}  // namespace isentropic::lab
