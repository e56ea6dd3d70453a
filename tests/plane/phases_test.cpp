// Records, the phases found in them, and the page as a reader sees it.
#include "plane/phases.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "isentropic/error.hpp"
#include "plane/page.hpp"
#include "support/browser.hpp"

namespace isentropic::plane {
namespace {

// Two layers and two estimators, with one course of I(X;T) per seed for the second layer under estimator "width:0.5";
// everything else is constant.
Record record_with(const std::vector<std::vector<double>>& courses, const std::vector<double>& test_accuracy = {}) {
  Record out{
      .title = "t", .layers = {"one", "two"}, .estimators = {"exact", "width:0.5"}, .input_bits = 4, .label_bits = 1};
  for (std::size_t t = 0; t < courses.front().size(); ++t) {
    Moment& moment = out.moments.emplace_back();
    moment.epoch = static_cast<std::int64_t>(t);
    moment.test_accuracy = moment.train_accuracy = test_accuracy;
    moment.points.assign(2, std::vector(2, std::vector(courses.size(), information::LayerInformation{4, 1})));
    for (std::size_t seed = 0; seed < courses.size(); ++seed) moment.points[1][1][seed] = {courses[seed][t], .5};
  }
  return out;
}

const Phase& last_phase(const std::vector<Phase>& all) { return all.back(); }

TEST(Phases, DropsByHand) {
  const auto found = phases(record_with({{1, 3, 2}, {1, 3, 1}}));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(last_phase(found).layer, "two");
  EXPECT_DOUBLE_EQ(last_phase(found).start, 1);
  EXPECT_DOUBLE_EQ(last_phase(found).peak, 3);
  EXPECT_DOUBLE_EQ(last_phase(found).end, 1.5);
  EXPECT_DOUBLE_EQ(last_phase(found).drop, 1.5);
  EXPECT_DOUBLE_EQ(last_phase(found).spread, .5);  // deviation 1/sqrt 2, over sqrt 2
  EXPECT_TRUE(last_phase(found).compresses);
  EXPECT_FALSE(found.front().compresses);
}

TEST(Phases, WhatSeedsDisagreeAboutIsNoCompression) {
  EXPECT_FALSE(last_phase(phases(record_with({{3, 3, 3}, {3, 3, 2.8}}))).compresses);   // .1 with a spread of .1
  EXPECT_TRUE(last_phase(phases(record_with({{3, 3, 2.8}, {3, 3, 2.8}}))).compresses);  // .2 for both seeds
  EXPECT_FALSE(last_phase(phases(record_with({{1, 2, 3}, {1, 2, 3}}))).compresses);     // a rise
  EXPECT_TRUE(phases(Record{}).empty());
}

TEST(Phases, ExactInformationThatRisesWithDepthIsAWarning) {
  Record record = record_with({{1, 2}, {1, 2}});
  EXPECT_TRUE(warnings(record).empty());
  record.moments[1].points[0][0][1].input = 3.5;
  EXPECT_EQ(rises_with_depth(record)[0].risen, 1u);
  EXPECT_DOUBLE_EQ(rises_with_depth(record)[0].largest, .5);
  ASSERT_EQ(warnings(record).size(), 1u);
  EXPECT_NE(warnings(record)[0].find("rises with depth in 1 of 4"), std::string::npos);
}

TEST(Phases, AccuracyHasNoAssumedSign) {
  const std::vector<std::vector<double>> courses = {{3, 1}, {3, 2}, {3, 3}};
  EXPECT_NEAR(compression_and_accuracy(record_with(courses, {.9, .8, .7}))[1].correlation, 1, 1e-12);
  EXPECT_NEAR(compression_and_accuracy(record_with(courses, {.7, .8, .9}))[1].correlation, -1, 1e-12);
  EXPECT_TRUE(std::isnan(compression_and_accuracy(record_with(courses, {.8, .8, .8}))[1].correlation));
  EXPECT_TRUE(std::isnan(compression_and_accuracy(record_with({{3, 1}, {3, 2}}, {.7, .8}))[1].correlation));
  EXPECT_TRUE(compression_and_accuracy(record_with(courses)).empty());
}

TEST(Records, ReadBack) {
  const Record record = record_with({{1, 3, 2}, {1, 3, 1}}, {.5, .75});
  const std::string text = json_of(record).dump();
  EXPECT_EQ(json_of(record_from_json(text, "r")).dump(), text);
  for (const char* wrong : {"", "[]", "{}", R"({"title": 3})"})
    EXPECT_THROW(record_from_json(wrong, "r"), Error) << wrong;
  nlohmann::ordered_json other = json_of(record);
  other["layers"].push_back("three");
  EXPECT_THROW(record_from_json(other.dump(), "r"), Error);
  other["layers"] = other["estimators"] = nlohmann::json::array();
  EXPECT_THROW(record_from_json(other.dump(), "r"), Error);
}

TEST(Records, NumbersAreForEachSeed) {
  Record record = record_with({{1, 3}, {1, 3}}, {.5, .75});
  record.moments[1].test_accuracy = {.5};
  EXPECT_THROW(record_from_json(json_of(record).dump(), "r"), Error);
  record.moments[1] = record_with({{1, 3}}, {.5}).moments[1];
  EXPECT_THROW(record_from_json(json_of(record).dump(), "r"), Error);
}

TEST(PlanePage, ShowsTheAccuraciesThatAreKnown) {
  Record record = record_with({{1, 3, 2}});
  EXPECT_EQ(page(record).find("Accuracy, mean over seeds"), std::string::npos);
  EXPECT_EQ(terminal_text(record).find("accuracy"), std::string::npos);
  for (Moment& moment : record.moments) moment.test_accuracy = {.75};
  EXPECT_NE(page(record).find("Accuracy, mean over seeds"), std::string::npos);
  EXPECT_NE(page(record).find("needs 3 seeds; there is 1."), std::string::npos);
  EXPECT_NE(terminal_text(record).find("accuracy: test 0.750\n"), std::string::npos);
  for (Moment& moment : record.moments) moment.train_accuracy = {1};
  EXPECT_NE(terminal_text(record).find("accuracy: training 1.000, test 0.750\n"), std::string::npos);
  record = record_with({{3, 1}, {3, 2}, {3, 3}}, {.9, .8, .7});
  EXPECT_NE(page(record).find("Correlation over 3 seeds"), std::string::npos);
}

// The slider starts at the last frame; each plane has a dot per layer and seed; moving the slider moves them.
TEST(PlanePage, PointsMoveWithTheSlider) {
  const std::string path = testing::TempDir() + "isentropic_plane.html";
  std::ofstream(path) << page(record_with({{1, 3, 2}, {1, 3, 1}}, {.5, .75}));
  const std::string drawn = support::drawn(path);
  EXPECT_EQ(support::count(drawn, "class=\"dot\" r=\"4\""), 8);
  EXPECT_EQ(support::count(drawn, "class=\"trail\""), 4);
  EXPECT_NE(drawn.find("<output>epoch 2</output>"), std::string::npos);
  EXPECT_NE(drawn.find("width:0.5 sees two compress."), std::string::npos);
  const auto found = support::found_at_width(path, 1000, R"((() => {
    const slider = document.querySelector(".player input"), dots = () => Array.from(document.querySelectorAll("circle.dot[r='4']")).map((dot) => dot.getAttribute("cx"));
    const last = dots();
    slider.value = 0;
    slider.dispatchEvent(new Event("input"));
    return { last, first: dots(), name: document.querySelector("output").textContent };
  })())");
  EXPECT_EQ(found["name"], "epoch 0");
  EXPECT_NE(found["first"], found["last"]);
  const auto played = support::found_at_width(path, 1000, R"((() => {
    const button = document.querySelector(".player button");
    button.click();
    return [document.querySelector("output").textContent, button.textContent];
  })())");
  EXPECT_EQ(played, nlohmann::json({"epoch 0", "Pause"}));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace isentropic::plane
