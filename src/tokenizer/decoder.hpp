// Decoders: turn tokens back into text, token by token.
//
//   ByteLevel      characters back to bytes; invalid UTF-8 becomes U+FFFD
//   ByteFallback   runs of "<0xE2>" to bytes; in a run that is not UTF-8 each becomes a U+FFFD
//   WordPiece      "##x" joins, others are separated by a space; cleanup removes spaces before punctuation
//   Metaspace      U+2581 to spaces, none at the front       Replace      a pattern by its content
//   BPEDecoder     the end-of-word suffix to a space         Strip        characters at the ends of tokens
//   Fuse           all tokens into one                       Sequence     several in sequence
//
// Every decoder is a stage that receives its tokens in parts and passes on what is final, so that a complete text and
// one still being generated take the same path. A stage after Fuse or ByteLevel sees one token for the whole text.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tokenizer/json_access.hpp"

namespace isentropic::tokenizer {

class DecoderStage {
 public:
  // Takes the next part of the current token, and whether the token ends with it.
  using Pass = std::function<void(std::string_view part, bool ends)>;

  virtual ~DecoderStage() = default;
  virtual void put(std::string_view part, bool ends, const Pass& pass) = 0;
  // Called after the last token.
  virtual void finish(const Pass&) {}
  // A copy of this stage in its initial state.
  virtual std::unique_ptr<DecoderStage> fresh() const = 0;
};

// A chain of stages in the middle of decoding a text.
class Decoding {
 public:
  explicit Decoding(std::vector<std::unique_ptr<DecoderStage>> stages) : stages_(std::move(stages)) {}

  // Returns the text that this token makes final.
  std::string put(std::string_view token);
  // Returns the text held back so far.
  std::string finish();

 private:
  DecoderStage::Pass pass_to(std::size_t stage, std::string* out);

  std::vector<std::unique_ptr<DecoderStage>> stages_;
};

class Decoder {
 public:
  // Joins tokens with spaces.
  Decoder();
  explicit Decoder(const Field& field);

  Decoding start() const;

 private:
  std::vector<std::unique_ptr<DecoderStage>> stages_;
};

}  // namespace isentropic::tokenizer
