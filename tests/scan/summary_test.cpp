// Sentences describe what was planted, with correct singulars and plurals.
#include "scan/summary.hpp"

#include <gtest/gtest.h>

#include "scan/notable_heads.hpp"
#include "scan/page.hpp"
#include "scan/page_results.hpp"
#include "scan/terminal.hpp"

namespace isentropic::scan {
namespace {

Result with_layers(const std::vector<std::optional<std::int64_t>>& windows) {
  Result out;
  for (std::size_t l = 0; l < windows.size(); ++l) {
    out.layers.push_back({{.module = "", .heads = 1, .window = windows[l]}, kNotMeasured, kNotMeasured});
    HeadResult head{.layer = l};
    head.statistics["entropy"] = {static_cast<double>(l + 1), 0};
    out.heads.push_back(head);
  }
  return out;
}

TEST(Summary, ThreeSentencesOnPlantedHeads) {
  const auto found = sentences(planted_result());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0],
            "1 of 6 heads looks at the token before; 1 looks for what followed earlier occurrences of a token; 1 rests "
            "on one key, the first token; 1 looks at the last few tokens.");
  EXPECT_EQ(found[1], "Layer 0 sees everything, the other the last 128 tokens.");
  EXPECT_EQ(found[2],
            "From 128 to 512 tokens the loss stays at 4.00 and the mean entropy grows by 0.33 nats per factor "
            "e.");
}

TEST(Summary, CommonLabelsComeFirst) {
  Result result = with_layers({{}, {}, {}, {}, {}});
  EXPECT_EQ(sentences(result)[0], "None of the 5 heads meets a rule for a label.");
  for (const std::size_t i : {0u, 1u, 2u}) result.heads[i].labels = {{"sink", 0.5, i == 0 ? "key 4" : "key 0"}};
  result.heads[3].labels = {{"previous_token", 0.9, ""}};
  EXPECT_EQ(sentences(result)[0],
            "3 of 5 heads rest on one key, most of them the first token; 1 looks at the token before.");
  result.heads[1].labels[0].detail = "key 7";
  EXPECT_EQ(sentences(result)[0], "3 of 5 heads rest on one key; 1 looks at the token before.");
}

// Rare labels first, then those that meet their rule by the largest margin: in the terminal and on the page.
TEST(Summary, NotableHeadsAreTheSameEverywhere) {
  Result result = with_layers({{}, {}, {}, {}, {}, {}, {}, {}});
  for (const std::size_t i : {0u, 1u, 2u, 3u, 4u})
    result.heads[i].labels = {{"sink", 0.4 + 0.1 * static_cast<double>(i), "key 0"}};
  result.heads[5].labels = {{"sink", 0.31, "key 0"}, {"retrieval", 0.25, ""}};
  result.heads[6].labels = {{"retrieval", 0.5, ""}};
  EXPECT_EQ(heads_by_interest(result), (std::vector<std::size_t>{6, 5, 4, 3, 2, 1, 0, 7}));
  const std::string text = terminal_text(result);
  EXPECT_NE(text.find("heads: 6 sink, 2 retrieval\n    6.0  retrieval (0.5)\n    5.0  sink (0.31, key 0)  retrieval "
                      "(0.25)\n    4.0  sink (0.8, key 0)\n    3.0  sink (0.7, key 0)\n    2.0  sink (0.6, key 0)\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("    1.0"), std::string::npos) << text;
  EXPECT_EQ(sentences(result)[0].find("6 of 8 heads rest on one key, the first token; 2 look for"), 0u);
  std::vector<bool> chosen = shown_in_full(result, {.most_in_full = 2});
  EXPECT_TRUE(chosen[6] && chosen[5]);
  EXPECT_EQ(std::ranges::count(chosen, true), 2);
}

TEST(Summary, LayersByWhatTheySee) {
  using Windows = std::vector<std::optional<std::int64_t>>;
  EXPECT_EQ(sentences(with_layers(Windows{{}, {}}))[1], "Every layer sees everything.");
  EXPECT_EQ(sentences(with_layers(Windows{64}))[1], "Its only layer sees the last 64 tokens.");
  EXPECT_EQ(sentences(with_layers(Windows{128, {}, 128, {}, 128, {}}))[1],
            "Layers 1, 3 and 5 see everything, the others the last 128 tokens.");
  EXPECT_EQ(sentences(with_layers(Windows{8, 8, 8, {}, 8, 16, 16}))[1],
            "Layer 3 sees everything, layers 5 and 6 the last 16 tokens, the others the last 8 tokens.");
  Result both = with_layers(Windows{{}, {}, {}, 9, {}});
  both.layers[0].description.kind = Kind::encoder;
  both.layers[1].description.kind = Kind::encoder;
  both.layers[2].description.kind = Kind::encoder;
  both.layers[3].description.kind = Kind::cross;
  EXPECT_EQ(sentences(both)[1],
            "Layer 4 sees everything, layer 3 the other text, the others everything on both sides.");
}

TEST(Summary, WithoutLengthsTheEntropyIsSaid) {
  EXPECT_EQ(sentences(with_layers({{}, {}, {}}))[2],
            "The mean entropy is 2.00 nats, that of 7.39 keys of equal weight; it is lowest in layer 0 (1.00) and "
            "highest in layer 2 (3.00).");
}

TEST(Summary, FactsAreThoseThatAreKnown) {
  std::string all;
  for (const Fact& fact : facts(planted_result())) all += fact.label + ": " + fact.text + "\n";
  EXPECT_EQ(all,
            "family: llama\nparameters: 13.1 million\nscale law: inverse_sqrt_d\nlayers × heads: 2 × 3\n"
            "trained at: 256 tokens\nread: 256 tokens, 1 window of 256\ntext: book.txt\nloss: 3.250 nats\n"
            "perplexity: 25.79\n");
  EXPECT_EQ(facts(Result{}).size(), 2u);
}

}  // namespace
}  // namespace isentropic::scan
