// Text to ids and back, as Hugging Face's tokenizers does with the same tokenizer.json.
//
//   const Tokenizer tokenizer = Tokenizer::read("model/");          // or the path of a tokenizer.json
//   std::vector<std::int32_t> ids = tokenizer.encode("Hello");      // with the special tokens of its template
//   tokenizer.decode(ids, /*skip_special_tokens=*/true);            // "Hello"
//
// A text goes through added tokens, normaliser, pre-tokenizer, model and post-processor; ids go back through the
// decoder. The header of each part lists what it supports: added_tokens.hpp, normalizer.hpp, pre_tokenizer.hpp,
// model.hpp, post_processor.hpp, decoder.hpp. Anything else in a file is an Error naming file and field. The sections
// truncation and padding are ignored: they are the caller's business.
//
// Text must be UTF-8 and at most 64 MiB; invalid bytes are an Error giving their offset. A tokenizer is immutable, and
// threads may share it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isentropic::tokenizer {

class Tokenizer {
 public:
  // A tokenizer.json, or a folder containing one.
  static Tokenizer read(const std::string& path);
  // `name` stands for the file in errors.
  static Tokenizer from_json(std::string_view text, const std::string& name = "tokenizer.json");

  std::vector<std::int32_t> encode(std::string_view text, bool add_special_tokens = true) const;

  // Throws Error for an id of vocabulary_size() or more, or below 0. Ids without a token are skipped.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens = false) const;

  // The highest id + 1, added tokens included.
  std::int32_t vocabulary_size() const;
  std::optional<std::int32_t> id_of(std::string_view token) const;
  // Throws Error for an id that is out of range or has no token.
  std::string token_of(std::int32_t id) const;

 private:
  friend class StreamDecoder;
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts);

  std::shared_ptr<const Parts> parts_;
};

// Decodes a text while it is being generated: text once returned is never revised. Partial characters, and bytes whose
// run may continue, wait for the next ids.
//
//   StreamDecoder stream(tokenizer);
//   for (...) print(stream.put(id));
//   print(stream.finish());            // concatenated: what decode returns for all ids
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens = false);
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  // Throws Error for an id of vocabulary_size() or more, or below 0.
  std::string put(std::int32_t id);
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isentropic::tokenizer
