// Trains a byte-level BPE tokenizer: starting from 256 bytes, the most frequent pair of neighbours becomes a token,
// repeatedly, until the vocabulary is full or no pair is left.
//
// Texts are split into words by GPT-2's pattern, and words are counted, so that the cost of a merge is proportional to
// the number of distinct words that contain it. Among equally frequent pairs, the one with the lower ids is merged
// first. Vocabulary and merges match those of Hugging Face's BpeTrainer with a ByteLevel pre-tokenizer and its full
// alphabet: special tokens come first, then the characters of the bytes, then merges.
//
// "aaabdaaabac", 258 tokens: the pair aa occurs four times and becomes id 256, ab (twice) becomes 257.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isentropic::tokenizer {

struct BpeTrainingOptions {
  std::vector<std::string> special_tokens = {};
  std::uint64_t minimum_frequency = 0;  // rarer pairs are not merged
  bool add_prefix_space = false;        // before every text
  // Called with the number of tokens so far and the target.
  std::function<void(std::size_t tokens, std::size_t vocabulary_size)> progress = nullptr;
};

struct ByteLevelBpe {
  std::vector<std::string> tokens;                            // by id, bytes as printable characters
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // ids, highest priority first
  std::vector<std::string> special_tokens;
  bool add_prefix_space = false;

  // A tokenizer.json, for Tokenizer::from_json and for Hugging Face's.
  std::string to_json() const;
  // Written atomically. `argument` names the path in errors.
  void write(const std::string& argument, const std::string& path) const;
};

// `vocabulary_size` counts all tokens and must be at least 256 plus the number of special tokens. Throws Error if it is
// less, if a special token is empty or repeated, and for text that is not UTF-8.
ByteLevelBpe train_byte_level_bpe(std::span<const std::string_view> texts, std::size_t vocabulary_size,
                                  const BpeTrainingOptions& options = {});

}  // namespace isentropic::tokenizer
