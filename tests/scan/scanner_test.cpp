// Planted heads get their labels and no others; texts and lengths are combined as documented.
#include "scan/scanner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "isentropic/error.hpp"
#include "scan/planted.hpp"
#include "scan/tables.hpp"

namespace isentropic::scan {
namespace {

constexpr std::int64_t kLength = 256;

std::vector<LayerDescription> layers_of(std::initializer_list<std::int64_t> heads) {
  std::vector<LayerDescription> out;
  for (const std::int64_t count : heads)
    out.push_back({.module = "layer " + std::to_string(out.size()), .heads = count, .head_width = 16});
  return out;
}

std::vector<std::string> names(const HeadResult& head) {
  std::vector<std::string> out;
  for (const Label& label : head.labels) out.push_back(label.name);
  return out;
}

using Names = std::vector<std::string>;

TEST(Scanner, PlantedHeadsAreLabelledExactly) {
  const auto ids = some_ids(kLength);
  const Weights content = content_head(kLength, 3);
  const std::vector<Weights> first = {uniform_head(kLength), previous_head(kLength), sink_head(kLength, 0),
                                      sink_head(kLength, 5), local_head(kLength)};
  const std::vector<Weights> second = {copy_head(ids), content, content_head(kLength, 4), one_key_head(kLength),
                                       content};
  Scanner scanner({}, layers_of({5, 5}));
  scanner.begin_text("a");
  scanner.begin_window(ids);
  tell(scanner, 0, first, ids);
  tell(scanner, 1, second, ids);
  const Result found = scanner.finish();
  ASSERT_EQ(found.heads.size(), 10u);
  EXPECT_EQ(names(found.heads[0]), Names({"dispersed"}));
  EXPECT_EQ(names(found.heads[1]), Names({"previous_token"}));
  EXPECT_EQ(names(found.heads[2]), Names({"sink"}));
  EXPECT_EQ(found.heads[2].labels[0].detail, "key 0");
  EXPECT_EQ(names(found.heads[3]), Names({"sink"}));
  EXPECT_EQ(found.heads[3].labels[0].detail, "key 5");
  EXPECT_EQ(names(found.heads[4]), Names({"local"}));
  EXPECT_EQ(names(found.heads[5]), Names({"retrieval"}));
  EXPECT_EQ(names(found.heads[6]), Names({"redundant"}));
  EXPECT_EQ(found.heads[6].labels[0].detail, "head 1.4");
  EXPECT_EQ(names(found.heads[7]), Names({}));
  EXPECT_EQ(names(found.heads[8]), Names({"collapsed"}));
  EXPECT_EQ(names(found.heads[9]), Names({"redundant"}));
  EXPECT_EQ(found.heads[9].labels[0].detail, "head 1.1");
}

TEST(Scanner, ShuffledKeysTellWhatChanceGives) {
  const auto ids = some_ids(kLength);
  Scanner scanner({}, layers_of({4}));
  scanner.begin_text("a");
  scanner.begin_window(ids);
  tell(scanner, 0, {previous_head(kLength), sink_head(kLength, 0), local_head(kLength), copy_head(ids)}, ids);
  const Result found = scanner.finish();
  ASSERT_EQ(found.null_rates.size(), 4u);
  for (const NullRate& rate : found.null_rates) EXPECT_EQ(rate.rate, 0) << rate.label;
}

TEST(Scanner, ALabelNeedsMostTexts) {
  const auto ids = some_ids(kLength);
  for (const int sinks : {1, 2}) {
    Scanner scanner({}, layers_of({1}));
    for (int text = 0; text < 3; ++text) {
      scanner.begin_text("text");
      scanner.begin_window(ids);
      tell(scanner, 0, {text < sinks ? sink_head(kLength, 0) : content_head(kLength, 9)}, ids);
      scanner.add_loss(text, kLength);
    }
    const Result found = scanner.finish();
    EXPECT_EQ(names(found.heads[0]), sinks == 2 ? Names({"sink"}) : Names({}));
    EXPECT_GT(found.heads[0].statistics.at("entropy").deviation, 0);
    EXPECT_DOUBLE_EQ(found.loss->mean, 1);
    EXPECT_DOUBLE_EQ(found.loss->deviation, std::sqrt(2.0 / 3));
    EXPECT_EQ(found.tokens, 3 * kLength);
  }
}

TEST(Scanner, HeadsThatGrowWithTheLengthDisperse) {
  const auto ids = some_ids(kLength);
  auto layers = layers_of({2, 1});
  layers[1].window = 64;  // bounds its entropy, so it is not labelled as dispersing
  Scanner scanner({}, layers);
  scanner.begin_text("a");
  scanner.begin_window(ids);
  tell(scanner, 0, {content_head(kLength, 1), content_head(kLength, 2)}, ids);
  tell(scanner, 1, {content_head(kLength, 3)}, ids);
  for (const std::int64_t length : {256, 512, 1024}) {
    const double grown = std::log(static_cast<double>(length));
    scanner.add_length({length, static_cast<double>(length), 4}, {{grown, 0.5 * grown}, {grown}});
  }
  const Result found = scanner.finish();
  EXPECT_EQ(names(found.heads[0]), Names({"dispersing"}));
  EXPECT_NEAR(found.heads[0].labels[0].value, 1, 1e-12);
  EXPECT_EQ(names(found.heads[1]), Names({}));
  EXPECT_EQ(names(found.heads[2]), Names({}));
}

TEST(Scanner, TablesHaveALineForEachHead) {
  const auto ids = some_ids(kLength);
  Scanner scanner({}, layers_of({2}));
  scanner.begin_text("a");
  scanner.begin_window(ids);
  tell(scanner, 0, {previous_head(kLength), copy_head(ids)}, ids);
  const Result found = scanner.finish();
  std::istringstream table(tsv(found));
  std::vector<std::string> lines;
  for (std::string line; std::getline(table, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].starts_with("layer\thead\tmodule\tkind\twindow\tlabels\teffective_rank\tentropy\t")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("0\t0\tlayer 0\tdecoder\t\tprevious_token\t")) << lines[1];
  EXPECT_EQ(std::ranges::count(lines[2], '\t'), std::ranges::count(lines[0], '\t'));
  const auto scores = nlohmann::json::parse(retrieval_scores(found));
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_LT(scores.at("0-0").at(0).get<double>(), 0.1);
  EXPECT_GT(scores.at("0-1").at(0).get<double>(), 0.5);
}

TEST(Scanner, JsonGivesTheResultBack) {
  const auto ids = some_ids(kLength);
  Result about;
  about.model = "models/books", about.family = "llama", about.trained_length = 1024;
  about.tokens_of_window.assign(static_cast<std::size_t>(kLength), "</script>");
  Scanner scanner(about, layers_of({2}));
  scanner.begin_text("a");
  scanner.begin_window(ids);
  tell(scanner, 0, {sink_head(kLength, 0), copy_head(ids)}, ids);
  scanner.add_loss(3.25, 255);
  scanner.add_residual(0, 0.75);
  const Result found = scanner.finish();
  const std::string json = to_json(found);
  const Result again = result_from_json(json, "x.json");
  EXPECT_EQ(to_json(again), json);
  EXPECT_EQ(again.heads[0].heavy_keys[0].token, "</script>");
  EXPECT_DOUBLE_EQ(again.layers[0].residual_ratio, 0.75);
  EXPECT_THROW(result_from_json("{}", "x.json"), Error);
  EXPECT_THROW(result_from_json(json.substr(0, 50), "x.json"), Error);
}

}  // namespace
}  // namespace isentropic::scan
