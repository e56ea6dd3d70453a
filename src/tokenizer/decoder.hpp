// Decoders: how tokens become a text again, token by token.
//
//   ByteLevel      characters back to bytes; what is not UTF-8 becomes U+FFFD
//   ByteFallback   runs of "<0xE2>" to bytes; a run that is not UTF-8 becomes one U+FFFD for each
//   WordPiece      "##x" joins, others are set off by a space; cleanup removes spaces before punctuation
//   Metaspace      U+2581 to spaces, none at the front       Replace      a pattern by its content
//   BPEDecoder     the suffix of a word's end to a space     Strip        characters at the ends of tokens
//   Fuse           all tokens to one                         Sequence     one after the other
//
// Every decoder is a stage that is given the parts of its tokens and passes on what is final, so that a whole text and
// a text that is still being generated go the same way. A stage after Fuse or ByteLevel sees one token, which ends when
// everything does.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tokenizer/json_access.hpp"

namespace isentropic::tokenizer {

class DecoderStage {
 public:
  // The next part of the current token; whether the token ends with it.
  using Pass = std::function<void(std::string_view part, bool ends)>;

  virtual ~DecoderStage() = default;
  virtual void put(std::string_view part, bool ends, const Pass& pass) = 0;
  // There are no more tokens.
  virtual void finish(const Pass&) {}
  // The same stage before its first token.
  virtual std::unique_ptr<DecoderStage> fresh() const = 0;
};

// A chain of stages that is in the middle of a text.
class Decoding {
 public:
  explicit Decoding(std::vector<std::unique_ptr<DecoderStage>> stages) : stages_(std::move(stages)) {}

  // The text that has become final by this token.
  std::string put(std::string_view token);
  // What was held back.
  std::string finish();

 private:
  DecoderStage::Pass pass_to(std::size_t stage, std::string* out);

  std::vector<std::unique_ptr<DecoderStage>> stages_;
};

class Decoder {
 public:
  // Tokens with spaces between them.
  Decoder();
  explicit Decoder(const Field& field);

  Decoding start() const;

 private:
  std::vector<std::unique_ptr<DecoderStage>> stages_;
};

}  // namespace isentropic::tokenizer
