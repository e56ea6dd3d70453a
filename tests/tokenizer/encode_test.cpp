// Small tokenizers whose results can be worked out by hand.
#include <gtest/gtest.h>

#include "tokenizer/tokenizer_json.hpp"

namespace isentropic::tokenizer {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(Bpe, TheFirstRuleComesFirst) {
  EXPECT_EQ(tokenizer_of(small_bpe()).encode("ababa"), (Ids{4, 5}));
  EXPECT_EQ(tokenizer_of(small_bpe()).encode("aba"), (Ids{5}));
  EXPECT_EQ(tokenizer_of(small_bpe()).encode(""), Ids{});
}

TEST(Bpe, UnknownCharacters) {
  Json json = small_bpe();
  EXPECT_EQ(tokenizer_of(json).encode("axxb"), (Ids{4}));  // dropped, so their neighbours merge
  json["model"]["unk_token"] = "c";
  EXPECT_EQ(tokenizer_of(json).encode("axxb"), (Ids{0, 2, 2, 1}));
  json["model"]["fuse_unk"] = true;
  EXPECT_EQ(tokenizer_of(json).encode("axxb"), (Ids{0, 2, 1}));
  json["model"]["byte_fallback"] = true;
  json["model"]["vocab"]["<0x78>"] = 6;
  EXPECT_EQ(tokenizer_of(json).encode("axxb"), (Ids{0, 6, 6, 1}));
  EXPECT_EQ(tokenizer_of(json).encode("a\u00e9b"), (Ids{0, 2, 1}));  // not all of its bytes are in the vocabulary
}

TEST(Bpe, WholeWordsWithoutMerges) {
  Json json = small_bpe();
  json["model"]["vocab"]["cab"] = 6;
  EXPECT_EQ(tokenizer_of(json).encode("cab"), (Ids{2, 4}));
  json["model"]["ignore_merges"] = true;
  EXPECT_EQ(tokenizer_of(json).encode("cab"), (Ids{6}));
}

TEST(Bpe, AFileWithoutTypes) {
  Json json = small_bpe();
  json["model"].erase("type");
  json["model"]["unk_token"] = "";
  json["model"]["dropout"] = 0.0;
  EXPECT_EQ(tokenizer_of(json).encode("ab"), (Ids{4}));
}

TEST(WordPiece, LongestFirst) {
  const Tokenizer tokenizer = Tokenizer::from_json(R"({"pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {
      "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
      "vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "una": 4, "u": 5}}})");
  EXPECT_EQ(tokenizer.encode("unaffable"), (Ids{0}));  // una matches first, and then nothing fits
  EXPECT_EQ(tokenizer.encode("unable un"), (Ids{0, 1}));
  EXPECT_EQ(tokenizer.encode("uaffable"), (Ids{5, 2, 3}));
  EXPECT_EQ(tokenizer.encode("uaffableable"), (Ids{0}));  // too long
}

Ids added(const char* flag, bool value, const std::string& text) {
  Json json = small_bpe();
  json["added_tokens"] = {added_token("<x>", 6), added_token("<x>y", 7)};
  for (Json& token : json["added_tokens"]) token[flag] = value;
  return tokenizer_of(json).encode(text);
}

TEST(AddedTokens, TheLongestWins) {
  EXPECT_EQ(added("special", true, "a<x>b"), (Ids{0, 6, 1}));
  EXPECT_EQ(added("special", true, "a<x>yb"), (Ids{0, 7, 1}));
}

TEST(AddedTokens, WhiteSpaceAndWords) {
  EXPECT_EQ(added("lstrip", false, "a  <x> b"), (Ids{0, 3, 3, 6, 3, 1}));
  EXPECT_EQ(added("lstrip", true, "a  <x> b"), (Ids{0, 6, 3, 1}));
  EXPECT_EQ(added("rstrip", true, "a  <x> b"), (Ids{0, 3, 3, 6, 1}));
  EXPECT_EQ(added("single_word", true, "a<x> <x>"), (Ids{0, 3, 6}));  // the first is next to a word; < x > are unknown
}

TEST(AddedTokens, NormalisedOnes) {
  Json json = small_bpe();
  json["normalizer"] = {{"type", "Lowercase"}};
  json["added_tokens"] = {added_token("C<", 6)};
  EXPECT_EQ(tokenizer_of(json).encode("c<C<"), (Ids{2, 6}));
  json["added_tokens"][0]["normalized"] = true;
  EXPECT_EQ(tokenizer_of(json).encode("c<C<"), (Ids{6, 6}));
  EXPECT_EQ(tokenizer_of(json).token_of(6), "c<");
}

TEST(PreTokenizer, SplitBehaviours) {
  const std::vector<std::pair<const char*, std::string>> expected = {{"Removed", "the|final|countdown"},
                                                                     {"Isolated", "the|-|final|-|-|countdown"},
                                                                     {"MergedWithPrevious", "the-|final-|-|countdown"},
                                                                     {"MergedWithNext", "the|-final|-|-countdown"},
                                                                     {"Contiguous", "the|-|final|--|countdown"}};
  for (const auto& [behavior, words] : expected) {
    // Every expected word is a token, and nothing else.
    Json json = {{"pre_tokenizer", {{"type", "Split"}, {"pattern", {{"String", "-"}}}, {"behavior", behavior}}}};
    json["model"] = {{"type", "BPE"}, {"ignore_merges", true}, {"merges", Json::array()}, {"vocab", Json::object()}};
    Ids ids;
    for (std::size_t start = 0, end; start < words.size(); start = end + 1) {
      end = std::min(words.find('|', start), words.size());
      Json& vocab = json["model"]["vocab"];
      const std::string word = words.substr(start, end - start);
      if (!vocab.contains(word)) vocab[word] = vocab.size();
      ids.push_back(vocab[word]);
    }
    EXPECT_EQ(tokenizer_of(json).encode("the-final--countdown"), ids) << behavior;
  }
}

TEST(PreTokenizer, MetaspaceAtTheStartOnly) {
  Json json = Json::parse(R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"},
      "model": {"type": "BPE", "merges": [], "vocab": {"_": 0, "a": 1}}})");
  json["added_tokens"] = {added_token("<x>", 2)};
  EXPECT_EQ(tokenizer_of(json).encode("a<x>a a"), (Ids{0, 1, 2, 1, 0, 1}));
  json["pre_tokenizer"]["prepend_scheme"] = "always";
  EXPECT_EQ(tokenizer_of(json).encode("a<x>a"), (Ids{0, 1, 2, 0, 1}));
  json["pre_tokenizer"]["prepend_scheme"] = "never";
  EXPECT_EQ(tokenizer_of(json).encode("a<x>a"), (Ids{1, 2, 1}));
  json["pre_tokenizer"].erase("prepend_scheme");
  json["pre_tokenizer"]["add_prefix_space"] = false;
  EXPECT_EQ(tokenizer_of(json).encode("a<x>a"), (Ids{1, 2, 1}));
}

TEST(PostProcessor, Templates) {
  Json json = small_bpe();
  json["post_processor"] = Json::parse(R"({"type": "TemplateProcessing", "pair": [],
      "single": [{"SpecialToken": {"id": "x", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"x": {"id": "x", "ids": [2, 3], "tokens": ["c", " "]}}})");
  EXPECT_EQ(tokenizer_of(json).encode("a"), (Ids{2, 3, 0}));
  EXPECT_EQ(tokenizer_of(json).encode("a", false), (Ids{0}));
}

// ---- Decoding ----

Json bytes_of_e_acute() {
  return Json::parse(R"({"decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "merges": [],
      "vocab": {"a": 0, "\u00c3": 1, "\u00a9": 2}}})");
}

TEST(StreamDecoder, HoldsBackPartsOfCharacters) {
  StreamDecoder stream(tokenizer_of(bytes_of_e_acute()));
  EXPECT_EQ(stream.put(0), "a");
  EXPECT_EQ(stream.put(1), "");
  EXPECT_EQ(stream.put(2), "\u00e9");
  EXPECT_EQ(stream.put(2), "\ufffd");  // starts no character
  EXPECT_EQ(stream.put(1), "");
  EXPECT_EQ(stream.put(0), "\ufffda");
  EXPECT_EQ(stream.put(1), "");
  EXPECT_EQ(stream.finish(), "\ufffd");
}

TEST(StreamDecoder, HoldsBackRunsOfBytes) {
  Json json = Json::parse(R"({"decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}, "model": {"type": "BPE", "merges": [],
      "vocab": {" a": 0, "<0xC3>": 1, "<0xA9>": 2}}})");
  StreamDecoder stream(tokenizer_of(json));
  EXPECT_EQ(stream.put(0), "a");  // only the very first space is stripped
  EXPECT_EQ(stream.put(1), "");
  EXPECT_EQ(stream.put(2), "");  // another byte could still make it invalid
  EXPECT_EQ(stream.put(0), "\u00e9 a");
  EXPECT_EQ(stream.put(1), "");
  EXPECT_EQ(stream.finish(), "\ufffd");
}

TEST(Decode, SkipsSpecialTokens) {
  Json json = small_bpe();
  json["added_tokens"] = {added_token("<x>", 6)};
  json["added_tokens"][0]["special"] = true;
  EXPECT_EQ(tokenizer_of(json).decode(Ids{0, 6, 1}), "a <x> b");
  EXPECT_EQ(tokenizer_of(json).decode(Ids{0, 6, 1}, true), "a b");
}

}  // namespace
}  // namespace isentropic::tokenizer
