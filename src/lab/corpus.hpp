// Text corpora: reads and checks texts, encodes them, and splits the tokens into training and validation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace isentropic::lab {

// Reads a text file. Throws Error unless it is readable, UTF-8 and not empty.
std::string read_text(const std::string& path);

// FNV-1a hash, to detect that a text has changed.
std::uint64_t fingerprint(const std::string& text);

struct Corpus {
  std::vector<std::int32_t> train, validation;
};

// Each text is encoded without special tokens and followed by `end` (negative: by nothing). Without validation texts,
// the last fraction `held_out` of all tokens, 0 < held_out < 1, is held out. Throws Error unless both parts have more
// than `length` tokens.
struct CorpusOptions {
  std::int32_t end = -1;
  double held_out = 0.05;
  std::int64_t length = 1;
};
Corpus make_corpus(const tokenizer::Tokenizer& tokenizer, const std::vector<std::string>& train,
                   const std::vector<std::string>& validation, const CorpusOptions& options);

}  // namespace isentropic::lab
