// Ids and texts from Hugging Face's tokenizers for tricky strings.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tokenizer/tokenizer_json.hpp"

namespace isentropic::tokenizer {
namespace {

namespace fs = std::filesystem;

Json read_json(const fs::path& path) { return Json::parse(std::ifstream(path)); }

void expect_encodings(const fs::path& folder, const Json& encodings) {
  const Tokenizer tokenizer = Tokenizer::read(folder.string());
  ASSERT_GT(encodings.size(), 10u);
  for (const Json& entry : encodings) {
    SCOPED_TRACE(folder.filename().string() + ": " + entry["text"].dump());
    const auto ids = tokenizer.encode(entry["text"].get<std::string>());
    EXPECT_EQ(Json(ids), entry["ids"]);
    EXPECT_EQ(tokenizer.decode(ids, /*skip_special_tokens=*/true), entry["decoded"]);
  }
}

TEST(Reference, RandomModels) {
  for (const char* name : {"hf-random-gpt2", "hf-random-llama", "hf-random-bert"}) {
    const fs::path folder = fs::path(ISENTROPIC_TEST_DATA) / name;
    expect_encodings(folder, read_json(folder / "encodings.json"));
  }
}

TEST(Reference, SharedModels) {
  const fs::path models = fs::path(ISENTROPIC_SHARED) / "models";
  if (!fs::exists(models)) GTEST_SKIP() << "no " << models;
  for (const auto& entry : fs::directory_iterator(models)) {
    if (!fs::exists(entry.path() / "tokenizer.json")) continue;
    const Tokenizer tokenizer = Tokenizer::read((entry.path() / "tokenizer.json").string());
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("Once upon a time"), true).substr(1), "nce upon a time")
        << entry.path();
    const Json reference = read_json(entry.path() / "reference.json");
    if (reference.contains("encodings")) expect_encodings(entry.path(), reference["encodings"]);
  }
}

TEST(Reference, VocabularyOfGpt2) {
  const Tokenizer tokenizer = Tokenizer::read(std::string(ISENTROPIC_TEST_DATA) + "/hf-random-gpt2");
  EXPECT_EQ(tokenizer.id_of("<|endoftext|>"), 0);
  EXPECT_EQ(tokenizer.token_of(0), "<|endoftext|>");
  EXPECT_EQ(tokenizer.id_of("no such token"), std::nullopt);
  EXPECT_EQ(tokenizer.token_of(tokenizer.vocabulary_size() - 1).empty(), false);
}

// A long text takes seconds, whatever it consists of.
TEST(Reference, LongTexts) {
  for (const char* name : {"hf-random-gpt2", "hf-random-llama", "hf-random-bert"}) {
    const Tokenizer tokenizer = Tokenizer::read(std::string(ISENTROPIC_TEST_DATA) + "/" + name);
    for (const std::string part : {"a", " ", "the word ", "e\u0301\u0316", "\u0301\u0316", "<|endoftex", "\u4e2d"}) {
      std::string text;
      while (text.size() < 300'000) text += part;
      EXPECT_GT(tokenizer.encode(text).size(), 0u) << name << " " << part;
    }
  }
}

// Splitting a long word changes nothing: "abac" is aba c, on its own and a hundred times over.
TEST(Reference, LongWordsAreCutWhereNothingJoins) {
  const Tokenizer tokenizer = tokenizer_of(small_bpe());
  std::string text;
  std::vector<std::int32_t> expected;
  for (int i = 0; i < 100; ++i) {
    text += "abac";
    expected.insert(expected.end(), {5, 2});
  }
  EXPECT_EQ(tokenizer.encode(text), expected);
}

}  // namespace
}  // namespace isentropic::tokenizer
