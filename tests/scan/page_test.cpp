// A scan's page as a file: text stays text, the size stays small, and the heads that matter are included in full.
#include "scan/page.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "isentropic/error.hpp"
#include "scan/embedded.hpp"
#include "scan/packed_weights.hpp"
#include "scan/page_results.hpp"
#include "scan/terms.hpp"

namespace isentropic::scan {
namespace {

nlohmann::json data_of(const std::string& html) {
  const std::string open = "id=\"scan\">";
  const std::size_t begin = html.find(open) + open.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

TEST(ScanPage, TokensAndNamesStayText) {
  const std::string html = page(planted_result());
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find("<b>books"), std::string::npos);
  const auto data = data_of(html);
  EXPECT_EQ(data["tokens"]["read"]["stretches"][0][1], kMarkup);
  Result damaged = planted_result();
  damaged.tokens_of_window[3] = "\xff\xfe", damaged.model = "\xff";
  EXPECT_NO_THROW(page(damaged));
}

TEST(ScanPage, NothingIsFetched) {
  const std::string html = page(planted_result());
  EXPECT_NE(html.find("Content-Security-Policy\" content=\"default-src 'none';"), std::string::npos);
  EXPECT_EQ(html.find("<link"), std::string::npos);
  for (const std::string_view script : scan_scripts()) {
    EXPECT_NE(html.find(script), std::string::npos);
    EXPECT_EQ(script.find("innerHTML"), std::string_view::npos);
    EXPECT_EQ(script.find(".html("), std::string_view::npos);
  }
  for (const std::string_view script : training_scripts()) EXPECT_EQ(script.find("innerHTML"), std::string_view::npos);
}

TEST(ScanPage, TwoResultsStayTextAndSmall) {
  const Comparison two = compare(large_result(32, 32, 32768), large_result(32, 32, 32768));
  EXPECT_LT(page(two).size(), 5'000'000u);
  const std::string html = page(compare(planted_result(), planted_change()));
  EXPECT_EQ(html.find("<b>books"), std::string::npos);
  const auto data = data_of(html);
  EXPECT_EQ(data["against"]["heads"].size(), 6u);
  EXPECT_EQ(data["changed"].dump(), "[[3,0.5],[1,0.25],[5,0]]");
  // Both have a value or null for each term that either of them has.
  for (const auto& head : data["against"]["heads"]) EXPECT_EQ(head["values"].size(), data["terms"].size());
}

TEST(ScanPage, HeadsThatChangedAreHeldInFull) {
  Result first = large_result(16, 16, 1024), second = first;
  for (std::size_t i = 190; i < 200; ++i) second.heads[i].labels.clear();
  const std::vector<bool> chosen = shown_in_full(compare(first, second));
  for (std::size_t i = 190; i < 200; ++i) EXPECT_TRUE(chosen[i]) << i;
  EXPECT_EQ(std::ranges::count(chosen, true), static_cast<std::ptrdiff_t>(kHeadsInFull));
}

TEST(ScanPage, HeadsThatAreAskedForAreHeldInFull) {
  Result large = large_result(16, 16, 1024);
  for (HeadResult& head : large.heads) head.labels.clear();
  EXPECT_FALSE(shown_in_full(large)[255]);
  const std::vector<bool> chosen = shown_in_full(large, {.heads = {{15, 15}, {3, 2}, {15, 15}}});
  EXPECT_TRUE(chosen[255] && chosen[3 * 16 + 2]);
  EXPECT_EQ(std::ranges::count(chosen, true), static_cast<std::ptrdiff_t>(kHeadsInFull));
  EXPECT_TRUE(data_of(page(large, {.heads = {{15, 15}}}))["heads"][255]["in_full"]);
  EXPECT_THROW(page(large, {.heads = {{16, 0}}}), Error);
  PageOptions too_many;
  for (std::size_t i = 0; i <= kHeadsInFull; ++i) too_many.heads.emplace_back(i / 16, i % 16);
  EXPECT_THROW(page(large, too_many), Error);
}

// Three digits, whatever the magnitude, and a marker for unmeasured values.
TEST(ScanPage, WeightsArePackedInSixteenBits) {
  EXPECT_EQ(packed(std::vector<double>{1}), "/v8=");
  EXPECT_EQ(packed(std::vector<double>{0, kNotMeasured}), "AAD//w==");
  EXPECT_EQ(packed(std::vector<double>{0.25}), "/38=");  // 32767
  EXPECT_EQ(packed({}), "");
}

TEST(ScanPage, AThousandHeadsAtLongLengthsStaySmall) {
  const std::string html = page(large_result(32, 32, 32768));
  EXPECT_LT(html.size(), 3'000'000u);
  EXPECT_EQ(data_of(html)["heads"].size(), 1024u);
}

TEST(ScanPage, TheRarestLabelsAreHeldInFull) {
  const Result large = large_result(16, 16, 1024);
  const std::vector<bool> chosen = shown_in_full(large);
  EXPECT_EQ(std::ranges::count(chosen, true), static_cast<std::ptrdiff_t>(kHeadsInFull));
  EXPECT_TRUE(chosen[7 * 16 + 7]);
  double weakest_chosen = 1, strongest_left = 0;
  for (std::size_t i = 0; i < large.heads.size(); ++i) {
    const Label& label = large.heads[i].labels[0];
    if (label.name != "sink") continue;
    if (chosen[i]) weakest_chosen = std::min(weakest_chosen, label.value);
    if (!chosen[i]) strongest_left = std::max(strongest_left, label.value);
  }
  EXPECT_GE(weakest_chosen, strongest_left);
  const auto heads = data_of(page(large))["heads"];
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    EXPECT_EQ(heads[i].contains("blocks"), chosen[i]);
    EXPECT_EQ(heads[i]["curve"].size(), chosen[i] ? kCurvePoints : kShortCurve);
  }
}

TEST(ScanPage, LabelledHeadsComeBeforeOthers) {
  Result large = large_result(16, 16, 1024);
  for (std::size_t i = 0; i < large.heads.size(); ++i)
    if (i < 100 || i > 110) large.heads[i].labels.clear();
  std::vector<bool> chosen = shown_in_full(large);
  for (std::size_t i = 100; i <= 110; ++i) EXPECT_TRUE(chosen[i]) << i;
  // The remaining room goes to the first ones.
  EXPECT_TRUE(chosen[kHeadsInFull - 12]);
  EXPECT_FALSE(chosen[kHeadsInFull - 11]);
  // A label from a later version, and one without its number.
  large.heads[255].labels = {{"unheard_of", 1, ""}}, large.heads[254].labels = {{"sink", kNotMeasured, ""}};
  chosen = shown_in_full(large);
  EXPECT_TRUE(chosen[255] && chosen[254]);
}

TEST(ScanPage, NumbersAreShortAndMayBeMissing) {
  Result result = planted_result();
  result.heads[0].statistics["entropy"] = {1.0 / 3, 2.0 / 3};
  result.heads[1].statistics["entropy"] = {kNotMeasured, kNotMeasured};
  result.heads[2].statistics.erase("entropy");
  const auto data = data_of(page(result));
  std::size_t column = 0;
  while (data["terms"][column]["name"] != "entropy") ++column;
  EXPECT_EQ(data["heads"][0]["values"][column].dump(), "[0.3333,0.67]");
  EXPECT_EQ(data["heads"][1]["values"][column].dump(), "[null]");
  EXPECT_EQ(data["heads"][2]["values"][column].dump(), "[null]");
  EXPECT_TRUE(data["layers"][1]["residual_ratio"].is_null());
  EXPECT_EQ(data["heads"][3]["values"].size(), data["terms"].size());
}

TEST(ScanPage, LongTokensAreCutBetweenCharacters) {
  Result result = planted_result();
  for (int i = 0; i < 60; ++i) result.tokens_of_window[4] += "é";
  const std::string shown = data_of(page(result))["tokens"]["read"]["stretches"][2][0];
  EXPECT_LT(shown.size(), 100u);
  EXPECT_EQ(shown.substr(shown.size() - 5), "é…");
  EXPECT_EQ(data_of(page(result))["tokens"]["read"]["special"].dump(), "[0]");  // <s>, not the markup
}

// A decoder's rows and keys are written tokens; in cross-attention, rows are written and keys read.
TEST(ScanPage, EncoderDecodersHaveTwoTexts) {
  const Result result = encoder_decoder_result();
  const auto axes = [](const Result& of) {
    std::string out;
    const auto data = data_of(page(of));
    for (const auto& layer : data["layers"])
      for (const char* name : {"rows", "row_text", "keys", "key_text"}) out += layer[name].dump() + " ";
    return out;
  };
  const std::string expected = R"(200 "read" 200 "read" 300 "written" 300 "written" 300 "written" 200 "read" )";
  EXPECT_EQ(axes(result), expected);
  const auto tokens = data_of(page(result))["tokens"];
  EXPECT_EQ(tokens["read"]["count"], 200);
  EXPECT_EQ(tokens["read"]["special"].dump(), "[199]");
  EXPECT_EQ(tokens["written"]["count"], 300);
  EXPECT_EQ(tokens["written"]["special"].dump(), "[0]");
  EXPECT_EQ(tokens["written"]["stretches"][1].dump(), R"([" wrote3"," wrote4"])");  // stretches of 300 / 128 tokens
  EXPECT_EQ(tokens["written"]["stretches"][127].back(), " wrote299");
  EXPECT_EQ(tokens["written"]["named"]["252"], " wrote252");  // the rows of the tile
  EXPECT_EQ(tokens["read"]["named"]["152"], " read152");      // and its keys
  EXPECT_EQ(result.heads[1].heavy_keys[0].token, "<pad>");
  // Positions in two different texts are neither near nor far.
  EXPECT_TRUE(result.heads[1].statistics.contains("previous_weight"));
  EXPECT_FALSE(result.heads[2].statistics.contains("previous_weight"));
  EXPECT_EQ(axes(result_from_json(to_json(result), "x.json")), expected);
  // Earlier versions did not write the number of rows.
  Result old = result;
  for (LayerResult& layer : old.layers) layer.rows = layer.keys = 0;
  EXPECT_EQ(axes(old), expected);
  // Rows that are not tokens have no words.
  old.layers[0].rows = 100, old.tokens_of_window.clear();
  EXPECT_EQ(axes(old).find(R"(100 null 200 null 300 "written" )"), 0u) << axes(old);
}

TEST(ScanPage, EveryNumberHasItsSentence) {
  const auto data = data_of(page(large_result(2, 2, 2048)));
  EXPECT_EQ(data["terms"].size(), terms().size());
  for (const auto& term : data["terms"]) EXPECT_FALSE(term["meaning"].get<std::string>().empty()) << term;
  Result result = planted_result();
  result.heads[0].statistics["a_new_one"] = {1, 0};
  EXPECT_EQ(data_of(page(result))["terms"].back()["title"], "a_new_one");
}

TEST(ScanPage, AnEmptyResultHasAPage) { EXPECT_EQ(data_of(page(Result{}))["heads"].size(), 0u); }

}  // namespace
}  // namespace isentropic::scan
