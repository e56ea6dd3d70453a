// Two results side by side: differences, labels, order, words, and JSON that can be read back.
#include "scan/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "scan/page_results.hpp"

namespace isentropic::scan {
namespace {

std::vector<std::string> label_names(const std::vector<Label>& labels) {
  std::vector<std::string> out;
  for (const Label& label : labels) out.push_back(label.name);
  return out;
}

TEST(Comparison, DifferencesAreSecondMinusFirst) {
  const Comparison found = compare(planted_result(), planted_change());
  ASSERT_EQ(found.heads.size(), 6u);
  const HeadComparison& head = found.heads[1];
  EXPECT_EQ(head.layer, 0u);
  EXPECT_EQ(head.head, 1u);
  EXPECT_NEAR(head.differences.at("peak"), 0.25, 1e-12);
  EXPECT_EQ(label_names(head.lost), std::vector<std::string>{"previous_token"});
  EXPECT_EQ(label_names(head.gained), std::vector<std::string>{"sink"});
  EXPECT_EQ(head.gained[0].detail, "key 7");
  EXPECT_NEAR(head.change, 0.25, 1e-12);
  // Statistics that one of them lacks have no difference.
  EXPECT_FALSE(found.heads[0].differences.contains("peak"));
  EXPECT_FALSE(found.heads[2].differences.contains("entropy"));
  // Neither a statistic nor a share, so not part of the change.
  EXPECT_NEAR(found.heads[4].differences.at("entropy_slope"), 0.5, 1e-12);
  EXPECT_EQ(found.heads[4].change, 0);
}

TEST(Comparison, HeadsWithOtherLabelsComeInOrderOfTheirChange) {
  const Comparison found = compare(planted_result(), planted_change());
  EXPECT_EQ(found.changed, (std::vector<std::size_t>{3, 1, 5}));
  EXPECT_NEAR(found.heads[3].change, 0.5, 1e-6);  // in the retrieval score
  EXPECT_EQ(found.heads[5].change, 0);
  EXPECT_TRUE(compare(planted_result(), planted_result()).changed.empty());
}

TEST(Comparison, ShapesMustBeTheSame) {
  const auto message = [](const Result& first, const Result& second) {
    try {
      compare(first, second);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  Result other = large_result(2, 4, 1024);
  other.model = "other";
  EXPECT_EQ(message(large_result(3, 4, 1024), other),
            "the second scan, other, is of 2 layers of 4 heads; expected the 3 layers of 4 heads of the first, large");
  EXPECT_NE(message(large_result(2, 3, 1024), other).find("the 2 layers of 3 heads"), std::string::npos);
  other.layers[1].description.heads = 2, other.heads.resize(6);
  EXPECT_NE(message(large_result(2, 4, 1024), other).find("of 2 layers of 4, 2 heads;"), std::string::npos);
  EXPECT_EQ(message(large_result(2, 4, 1024), large_result(2, 4, 2048)), "no error");
}

TEST(Comparison, OneModelTwiceIsNamedByWhatDiffers) {
  const auto names = [](const std::function<void(Result*)>& change) {
    Result second = planted_result();
    change(&second);
    const Comparison found = compare(planted_result(), second);
    return found.first_name + " | " + found.second_name;
  };
  const std::string name = planted_result().model;
  EXPECT_EQ(names([](Result* x) { x->model = "b"; }), name + " | b");
  EXPECT_EQ(names([](Result* x) { x->scale = "log_n"; }), name + ", inverse_sqrt_d | " + name + ", log_n");
  EXPECT_EQ(names([](Result* x) { x->length = 512; }), name + ", 256 tokens | " + name + ", 512 tokens");
  EXPECT_EQ(names([](Result* x) { x->texts = {"b.txt"}; }), name + ", book.txt | " + name + ", b.txt");
  EXPECT_EQ(names([](Result*) {}), name + ", first | " + name + ", second");
}

TEST(Comparison, ThreeSentencesSayWhatChanged) {
  const auto found = sentences(compare(planted_result(), planted_change()));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0],
            "3 of 6 heads changed their labels: 1 lost previous token, 1 lost retrieval, 1 gained sink, 1 gained "
            "large scores.");
  EXPECT_EQ(
      found[1],
      "The loss goes from 3.250 to 3.000 nats, the perplexity goes from 25.79 to 20.09; at 512 tokens the loss goes "
      "from 4.000 to 3.500.");
  EXPECT_TRUE(found[2].ends_with("its growth with the length goes from 0.33 to 0.42 nats per factor e.")) << found[2];
  Result other_text = planted_change();
  other_text.texts = {"letters.txt"};
  EXPECT_TRUE(sentences(compare(planted_result(), other_text))[1].ends_with("did not read the same windows of text."));
  EXPECT_EQ(sentences(compare(planted_result(), planted_result()))[0], "None of the 6 heads changed its labels.");
  EXPECT_LE(sentences(compare(Result{}, Result{})).size(), 3u);
}

TEST(Comparison, TheTerminalHasAtMost25Lines) {
  Result first = large_result(16, 16, 32768), second = first;
  first.loss = {3.5, 0}, second.loss = {3.25, 0.1};
  first.scale = "inverse_sqrt_d", second.scale = "log_n";
  for (HeadResult& head : second.heads) head.labels.clear();
  const std::string text = terminal_text(compare(first, second));
  EXPECT_LE(std::ranges::count(text, '\n'), 25) << text;
  EXPECT_TRUE(text.starts_with("first: large, inverse_sqrt_d\nsecond: large, log_n\n")) << text;
  EXPECT_NE(text.find("3.5000    3.2500      -0.2500\nperplexity "), std::string::npos) << text;
  EXPECT_NE(text.find("lost sink (0."), std::string::npos) << text;
  EXPECT_EQ(text.find("──\n──"), std::string::npos) << text;
}

TEST(Comparison, TheTableHasThreeColumnsForEachStatistic) {
  const std::string table = tsv(compare(planted_result(), planted_change()));
  EXPECT_EQ(std::ranges::count(table, '\n'), 7);
  EXPECT_NE(table.find("\tentropy\tentropy_second\tentropy_difference\t"), std::string::npos);
  EXPECT_NE(table.find("0\t1\tlayers.0\tdecoder\t\tprevious_token\tsink\t"), std::string::npos) << table;
  EXPECT_NE(table.find("\t0.5\t0.75\t0.25\t"), std::string::npos) << table;  // peak of head 0.1
}

TEST(Comparison, JsonGivesBothResultsBack) {
  const Comparison found = compare(planted_result(), planted_change());
  const auto json = json_of(found);
  EXPECT_EQ(json["heads"][1]["gained"].dump(), "[\"sink\"]");
  EXPECT_EQ(json["heads"][1]["differences"]["peak"], 0.25);
  EXPECT_EQ(json["changed"].dump(), "[[1,0],[0,1],[1,2]]");
  const auto again = results_from_json(json.dump(), "x.json");
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(to_json(again[0]), to_json(found.first));
  EXPECT_EQ(to_json(again[1]), to_json(found.second));
  EXPECT_EQ(compare(again[0], again[1]).changed, found.changed);
  EXPECT_EQ(results_from_json(to_json(found.first), "x.json").size(), 1u);
}

// Entries that earlier versions did not write may be missing.
TEST(Comparison, OlderScansAreRead) {
  nlohmann::ordered_json json = json_of(planted_result());
  for (auto& layer : json["layers"]) layer.erase("similarities");
  for (auto& head : json["heads"]) head.erase("tile"), head.erase("exact_rows");
  const Result found = results_from_json(json.dump(), "old.json")[0];
  EXPECT_TRUE(found.heads[0].tile.weights.empty());
  EXPECT_TRUE(found.layers[0].similarities.empty());
}

// Any damage is an error that names the file; nothing is drawn.
TEST(Comparison, DamagedJsonIsRefused) {
  const auto refused = [](const std::function<void(nlohmann::ordered_json*)>& damage) {
    nlohmann::ordered_json json = json_of(planted_result());
    damage(&json);
    try {
      results_from_json(json.dump(), "old.json");
    } catch (const Error& error) {
      return std::string(error.what()).starts_with("old.json is ");
    }
    return false;
  };
  using Json = nlohmann::ordered_json;
  EXPECT_FALSE(refused([](Json*) {}));
  EXPECT_TRUE(refused([](Json* json) { (*json)["heads"].erase(3); }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["heads"].push_back((*json)["heads"][0]); }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["heads"][0]["layer"] = 99; }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["heads"][0]["layer"] = -1; }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["heads"][0]["layer"] = 1e300; }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["layers"][0]["heads"] = std::int64_t{1} << 60; }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["heads"][0]["blocks"][1] = {1}; }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["heads"][2]["tile"]["weights"][1] = {1}; }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["heads"][2]["exact_rows"][0]["keys"][0] = 1; }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["layers"][0]["similarities"].erase(1); }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["layers"][0]["similarities"][2].push_back(1); }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["tokens"] = 7; }));
  EXPECT_TRUE(refused([](Json* json) { (*json)["format"] = 7; }));
  EXPECT_TRUE(refused([](Json* json) { json->erase("lengths"); }));
  EXPECT_TRUE(refused([](Json* json) { *json = {{"format", "isentropic scan comparison"}, {"version", 1}}; }));
  EXPECT_TRUE(refused([](Json* json) { *json = Json::array(); }));
  EXPECT_THROW(results_from_json(std::string(100000, '['), "old.json"), Error);
  EXPECT_THROW(results_from_json("", "old.json"), Error);
}

}  // namespace
}  // namespace isentropic::scan
