// Errors in a file or text are reported in one line that names it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tokenizer/bpe_trainer.hpp"
#include "tokenizer/tokenizer_json.hpp"

namespace isentropic::tokenizer {
namespace {

#define EXPECT_COMPLAINT(text, part)                             \
  do {                                                           \
    const std::string message = (text);                          \
    EXPECT_NE(message.find(part), std::string::npos) << message; \
    EXPECT_EQ(message.find('\n'), std::string::npos) << message; \
  } while (false)

std::string complaint_about(const std::string& text) {
  return complaint([&] { Tokenizer::from_json(text, "t.json").encode("aab (ab) aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"); });
}

TEST(Mistakes, NoTokenizerAtAll) {
  EXPECT_COMPLAINT(complaint_about("{"), "t.json is not JSON at byte 2");
  EXPECT_COMPLAINT(complaint_about("\xFF"), "t.json is not JSON at byte 1");
  EXPECT_COMPLAINT(complaint_about("[]"), "t.json is []; expected a JSON object");
  EXPECT_COMPLAINT(complaint_about("{}"), "t.json: model is missing");
  EXPECT_COMPLAINT(complaint_about(std::string(100'000, '[')), "t.json is JSON nested deeper than 64 levels");
  EXPECT_COMPLAINT(complaint([] { Tokenizer::read("/nowhere"); }), "/nowhere is missing");
}

TEST(Mistakes, KeysTwice) {
  std::string text = small_bpe().dump();
  text.insert(text.find("\"b\":1"), "\"b\":3,");
  EXPECT_COMPLAINT(complaint_about(text), "t.json is JSON with the key \"b\" twice; expected it once");
}

TEST(Mistakes, Fields) {
  struct Case {
    const char *place, *value, *message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"/version", R"("2.0")", "version is \"2.0\""},
           {"/model/type", R"("Unigram")", "model.type is \"Unigram\"; expected one of BPE, WordPiece"},
           {"/model/vocab", "[]", "model.vocab is an array"},
           {"/model/vocab/c", "1", "model.vocab.c is 1; expected an id of its own: \"b\" has it"},
           {"/model/vocab/c", "-1", "model.vocab.c is -1; expected an integer from 0"},
           {"/model/vocab/x\ny", "-1", "model.vocab[\"x\\ny\"] is -1"},
           {"/model/vocab/c", "1.5", "model.vocab.c is 1.5"},
           {"/model/vocab/c", "4294967296", "model.vocab.c is 4294967296"},
           {"/model/vocab/c", "100000000", "model.vocab.c is 100000000"},
           {"/model/merges", "null", "model.merges is null; expected an array"},
           {"/model/merges/0", R"("a  b")", "model.merges[0] is \"a  b\"; expected two tokens"},
           {"/model/merges/0", R"(["a", "x"])", "model.merges[0] is about \"x\""},
           {"/model/merges/0", R"(["b", "c"])", "model.merges[0] is about \"bc\""},
           {"/model/dropout", "0.1", "model.dropout is 0.1; expected null or 0"},
           {"/normalizer", R"({"type": "Precompiled"})", "normalizer.type is \"Precompiled\"; expected one of Bert"},
           {"/normalizer", R"({"type": "Nmt"})", "normalizer.type is \"Nmt\""},
           {"/normalizer", R"({"type": "Strip"})", "normalizer.strip_left is missing"},
           {"/pre_tokenizer", R"({"type": "UnicodeScripts"})", "pre_tokenizer.type is \"UnicodeScripts\""},
           {"/pre_tokenizer", R"({"type": "Split", "behavior": "x", "pattern": {"String": "a"}})", "behavior is \"x\""},
           {"/pre_tokenizer", R"({"type": "Split", "behavior": "Removed", "pattern": {"Regex": "("}})",
            "pre_tokenizer.pattern.Regex is \"(\"; expected a regular expression"},
           {"/pre_tokenizer", R"({"type": "Split", "behavior": "Removed", "pattern": {"Regex": "a[b\\"}})",
            R"(pre_tokenizer.pattern.Regex is "a[b\\"; expected a regular expression)"},
           {"/pre_tokenizer", R"({"type": "Split", "behavior": "Removed", "pattern": {"Regex": "[a&&[b]]"}})",
            "without sets inside sets"},
           {"/pre_tokenizer", R"x({"type": "Split", "behavior": "Removed", "pattern": {"Regex": "(a|aa)+$(?<=b)"}})x",
            "pre_tokenizer.pattern.Regex is too slow"},
           {"/post_processor", R"({"type": "BertProcessing", "sep": ["x", 6], "cls": ["x", 1]})", "sep[1] is 6"},
           {"/decoder", R"({"type": "CTC"})", "decoder.type is \"CTC\""},
           {"/added_tokens", "[3]", "added_tokens[0] is 3; expected an object"},
       }) {
    Json json = small_bpe();
    json[Json::json_pointer(c.place)] = Json::parse(c.value);
    EXPECT_COMPLAINT(complaint_about(json.dump()), c.message);
  }
}

TEST(Mistakes, IdsOfAddedTokens) {
  Json json = small_bpe();
  json["added_tokens"] = {added_token("x", 8)};
  EXPECT_COMPLAINT(complaint_about(json.dump()), "added_tokens[0].id is 8; expected 6");
  json["added_tokens"] = {added_token("a", 6)};
  EXPECT_COMPLAINT(complaint_about(json.dump()), "added_tokens[0].id is 6; expected 0");
}

TEST(Mistakes, SequencesWithoutEnd) {
  Json json = small_bpe();
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json::array()}};
  for (int i = 0; i < 65; ++i) json["normalizer"]["normalizers"].push_back({{"type", "NFC"}});
  EXPECT_COMPLAINT(complaint_about(json.dump()), "normalizer.normalizers is an array of 65");
  for (Json& part : json["normalizer"]["normalizers"])
    part = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  json["normalizer"]["normalizers"].erase(64);
  EXPECT_COMPLAINT(complaint_about(json.dump()), "longer than 1051200 bytes");
}

TEST(Mistakes, TextsAndIds) {
  const Tokenizer tokenizer = tokenizer_of(small_bpe());
  EXPECT_COMPLAINT(complaint([&] { tokenizer.encode("ab\xC3"); }), "text is not UTF-8 at byte 2");
  EXPECT_COMPLAINT(complaint([&] { tokenizer.encode("\xED\xA0\x80"); }), "text is not UTF-8 at byte 0");
  EXPECT_COMPLAINT(complaint([&] { tokenizer.decode(std::vector<std::int32_t>{6}); }),
                   "id is 6; expected an id from 0 to 5");
  EXPECT_COMPLAINT(complaint([&] { tokenizer.token_of(-1); }), "id is -1");
}

TEST(Mistakes, Training) {
  const std::vector<std::string_view> texts = {"a\xFF"};
  EXPECT_COMPLAINT(complaint([&] { train_byte_level_bpe(texts, 300); }), "texts[0] is not UTF-8 at byte 1");
  EXPECT_COMPLAINT(complaint([&] { train_byte_level_bpe({}, 255); }), "vocabulary_size is 255; expected at least 256");
  EXPECT_COMPLAINT(complaint([&] {
                     train_byte_level_bpe({}, 300, {.special_tokens = {"x", "x"}});
                   }),
                   "special token is \"x\"");
}

}  // namespace
}  // namespace isentropic::tokenizer
