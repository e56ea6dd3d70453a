// Trains a byte-level BPE tokenizer: from 256 bytes, the most frequent pair of neighbours becomes a token, again and
// again, until the vocabulary is full or no pair is left.
//
// Texts are cut into words by the pattern of GPT-2, and words are counted, so that a merge costs as much as the
// different words that contain it. Of pairs that are equally frequent, the one with the lower ids is merged first.
// Vocabulary and merges are those of Hugging Face's BpeTrainer with a ByteLevel pre-tokenizer and its whole alphabet:
// special tokens come first, then the characters of the bytes, then merges.
//
// "aaabdaaabac", 258 tokens: the pair aa occurs four times in it and becomes id 256, ab (twice) 257.
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
  std::uint64_t minimum_frequency = 0;  // pairs that are rarer are not merged
  bool add_prefix_space = false;        // in front of every text
  // Tokens there are so far, of how many.
  std::function<void(std::size_t tokens, std::size_t vocabulary_size)> progress = nullptr;
};

struct ByteLevelBpe {
  std::vector<std::string> tokens;                            // by id, bytes as printable characters
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // ids, the first rule first
  std::vector<std::string> special_tokens;
  bool add_prefix_space = false;

  // A tokenizer.json, for Tokenizer::from_json and for Hugging Face's.
  std::string to_json() const;
  // As a file that is either whole or not there. `argument` names the path in errors.
  void write(const std::string& argument, const std::string& path) const;
};

// `vocabulary_size` counts everything and is at least 256 and the special tokens. Throws Error for less, for special
// tokens that are empty or given twice, and for text that is not UTF-8.
ByteLevelBpe train_byte_level_bpe(std::span<const std::string_view> texts, std::size_t vocabulary_size,
                                  const BpeTrainingOptions& options = {});

}  // namespace isentropic::tokenizer
