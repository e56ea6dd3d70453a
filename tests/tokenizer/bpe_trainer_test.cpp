// Training by hand; tests/python/test_tokenizer.py compares with Hugging Face's trainer.
#include "tokenizer/bpe_trainer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tokenizer/tokenizer_json.hpp"

namespace isentropic::tokenizer {
namespace {

TEST(BpeTrainer, TheExampleOfItsHeader) {
  const std::vector<std::string_view> texts = {"aaabdaaabac"};
  const ByteLevelBpe trained = train_byte_level_bpe(texts, 258);
  ASSERT_EQ(trained.tokens.size(), 258u);
  EXPECT_EQ(trained.tokens[256], "aa");
  EXPECT_EQ(trained.tokens[257], "ab");
  EXPECT_EQ(tokenizer_of(Json::parse(trained.to_json())).encode("aaab"), (std::vector<std::int32_t>{256, 257}));
}

TEST(BpeTrainer, StopsWhenNothingIsLeft) {
  const std::vector<std::string_view> texts = {"ab ab", "cd"};
  EXPECT_EQ(train_byte_level_bpe(texts, 1000).merges.size(), 3u);  // ab, cd, and space + ab
  EXPECT_EQ(train_byte_level_bpe(texts, 1000, {.minimum_frequency = 2}).merges.size(), 1u);
}

TEST(BpeTrainer, WritesWhatCanBeRead) {
  const std::vector<std::string_view> texts = {"one two three one two \u00e9\u00e9", "one"};
  std::size_t last = 0;
  const auto progress = [&](std::size_t tokens, std::size_t) { last = tokens; };
  const ByteLevelBpe trained = train_byte_level_bpe(texts, 264, {.special_tokens = {"<|end|>"}, .progress = progress});
  EXPECT_EQ(last, 264u);
  const std::string path =
      (std::filesystem::temp_directory_path() / ("bpe_trainer_" + std::to_string(::getpid()) + ".json")).string();
  trained.write("path", path);
  const Tokenizer tokenizer = Tokenizer::read(path);
  std::filesystem::remove(path);
  EXPECT_EQ(tokenizer.vocabulary_size(), 264);
  EXPECT_EQ(tokenizer.id_of("<|end|>"), 0);
  const std::string text = "one two<|end|> four \u00e9\u4e2d\n";
  const auto ids = tokenizer.encode(text);
  EXPECT_LT(ids.size(), text.size());
  EXPECT_EQ(tokenizer.decode(ids), text);
}

}  // namespace
}  // namespace isentropic::tokenizer
