// Fields of config.json: types, ranges, alternative spellings, and the errors for bad ones.
#include "checkpoint/config.hpp"

#include <limits>

#include "checkpoint/files.hpp"

namespace isentropic::checkpoint {
namespace {

Config config(const std::string& text) { return Config::parse("config.json", text); }

TEST(ConfigFields, Types) {
  const Config c =
      config(R"({"i": 64, "x": 1e-5, "b": true, "t": "gelu", "is": [1, -2], "ts": ["A", "B"], "n": null})");
  EXPECT_EQ(c.integer("i"), 64);
  EXPECT_EQ(c.number("x"), 1e-5);
  EXPECT_EQ(c.number("i"), 64.0);
  EXPECT_TRUE(c.boolean("b"));
  EXPECT_EQ(c.text("t"), "gelu");
  EXPECT_EQ(c.integers("is"), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(c.integers("i"), std::vector<std::int64_t>{64});
  EXPECT_EQ(c.texts("ts"), (std::vector<std::string>{"A", "B"}));
  EXPECT_FALSE(c.has("n"));
  EXPECT_EQ(c.find_integer("n"), std::nullopt);
  EXPECT_EQ(c.find_number("absent").value_or(2.5), 2.5);
  EXPECT_EQ(c.find_boolean("absent"), std::nullopt);
  EXPECT_EQ(c.find_texts("absent"), std::nullopt);
}

TEST(ConfigFields, OtherSpellings) {
  const Config old = config(R"({"n_embd": 64, "rope_theta": 5})");
  const Config recent = config(R"({"hidden_size": 64, "n_embd": 3, "rope_parameters": {"rope_theta": 5}})");
  for (const Config& each : {old, recent}) {
    EXPECT_EQ(each.integer({"hidden_size", "n_embd"}), 64);
    EXPECT_EQ(each.number({"rope_theta", "rope_parameters.rope_theta"}), 5);
  }
  EXPECT_EQ(config(R"({"hidden_size": null, "n_embd": 3})").integer({"hidden_size", "n_embd"}), 3);
  EXPECT_EQ(config(R"({"rope_parameters": null})").find_number("rope_parameters.rope_theta"), std::nullopt);
}

TEST(ConfigFields, Sections) {
  const Config c = config(R"({"text_config": {"rope_scaling": {"factor": 8.0}, "depth": 2}, "x": 1})");
  const Config scaling = c.section("text_config").section("rope_scaling");
  EXPECT_EQ(scaling.number("factor"), 8);
  EXPECT_EQ(scaling.place("factor"), "config.json: text_config.rope_scaling.factor");
  EXPECT_EQ(c.section("text_config.rope_scaling").place("type"), "config.json: text_config.rope_scaling.type");
  EXPECT_FALSE(c.find_section("vision_config").has_value());
  EXPECT_EQ(complaint([&] { c.section("x"); }), "config.json: x is 1; expected an object");
  EXPECT_EQ(complaint([&] { c.find_number("x.y"); }), "config.json: x is 1; expected an object");
  EXPECT_EQ(complaint([&] { c.section("vision_config"); }),
            "config.json: vision_config is missing; expected an object");
}

TEST(ConfigFields, WrongTypes) {
  const Config c =
      config(R"({"rope_scaling": {"factor": "x"}, "f": 1.0, "b": true, "l": [1, "2"], "big": 9223372036854775808})");
  EXPECT_EQ(complaint([&] { c.section("rope_scaling").number("factor"); }),
            R"(config.json: rope_scaling.factor is "x"; expected a number)");
  EXPECT_EQ(complaint([&] { c.find_number("rope_scaling.factor"); }),
            R"(config.json: rope_scaling.factor is "x"; expected a number)");
  EXPECT_EQ(complaint([&] { c.integer("f"); }), "config.json: f is 1.0; expected an integer");
  EXPECT_EQ(complaint([&] { c.integer("b"); }), "config.json: b is true; expected an integer");
  EXPECT_EQ(complaint([&] { c.number("b"); }), "config.json: b is true; expected a number");
  EXPECT_EQ(complaint([&] { c.integer("big"); }), "config.json: big is 9223372036854775808; expected an integer");
  EXPECT_EQ(complaint([&] { c.boolean("f"); }), "config.json: f is 1.0; expected true or false");
  EXPECT_EQ(complaint([&] { c.text("f"); }), "config.json: f is 1.0; expected a text");
  for (const std::string& text : {std::string("a\\nb"), std::string(201, 'x')}) {
    const Config long_or_not_a_line =
        Config::parse("config.json", R"({"t": ")" + text + R"(", "l": [")" + text + R"("]})");
    EXPECT_NE(complaint([&] { long_or_not_a_line.text("t"); }).find("; expected a text of one line"),
              std::string::npos);
    EXPECT_NE(complaint([&] { long_or_not_a_line.texts("l"); }).find("; expected a text of one line"),
              std::string::npos);
  }
  EXPECT_EQ(complaint([&] { c.integers("l"); }), R"(config.json: l is [1,"2"]; expected a list of integers)");
  EXPECT_EQ(complaint([&] { c.texts("l"); }), R"(config.json: l is [1,"2"]; expected a list of texts)");
}

TEST(ConfigFields, RangesAndMissing) {
  const Config c = config(R"({"n": 0, "x": 1.5, "l": [1, 70]})");
  EXPECT_EQ(complaint([&] { c.integer({"m", "n"}, {.least = 1}); }), "config.json: n is 0; expected an integer >= 1");
  EXPECT_EQ(complaint([&] { c.integer("n", {.least = 1, .most = 64}); }),
            "config.json: n is 0; expected an integer >= 1 and <= 64");
  EXPECT_EQ(complaint([&] { c.number("x", {.most = 1}); }), "config.json: x is 1.5; expected a number <= 1");
  EXPECT_EQ(complaint([&] { c.integers("l", {.most = 64}); }),
            "config.json: l is [1,70]; expected a list of integers <= 64");
  EXPECT_EQ(c.number("x", {.least = 1.5, .most = 1.5}), 1.5);
  EXPECT_EQ(complaint([&] { c.text("hidden_act"); }), "config.json: hidden_act is missing; expected a text");
  EXPECT_EQ(complaint([&] {
              c.integer({"hidden_size", "n_embd", "d_model"}, {.least = 1});
            }),
            "config.json: hidden_size is missing; expected an integer >= 1, here or as n_embd or d_model");
}

// As written by Python's json module and by transformers 5.
TEST(ConfigFields, NumbersThatJsonDoesNotKnow) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Config c = config(R"({"a": Infinity, "b": -Infinity, "c": NaN, "d": {"__float__": "Infinity"},
                              "t": "NaN \" Infinity", "NaN": 1})");
  EXPECT_EQ(c.number("a", {.most = kInfinity}), kInfinity);
  EXPECT_EQ(c.number("b", {.least = -kInfinity}), -kInfinity);
  EXPECT_EQ(c.number("d", {.most = kInfinity}), kInfinity);
  EXPECT_EQ(c.text("t"), "NaN \" Infinity");
  EXPECT_EQ(c.integer("NaN"), 1);
  EXPECT_EQ(complaint([&] { c.number("a"); }), "config.json: a is inf; expected a finite number");
  EXPECT_EQ(complaint([&] { c.number("c", {.least = -kInfinity, .most = kInfinity}); }),
            "config.json: c is nan; expected a finite number");
}

TEST(ConfigFields, TextThatIsNoConfiguration) {
  EXPECT_EQ(complaint([] { config(R"({"a": })"); }), "config.json is not JSON at byte 7; expected a JSON object");
  EXPECT_EQ(complaint([] { config("[]"); }), "config.json is []; expected a JSON object");
  EXPECT_EQ(complaint([] { config(R"({"a": 1, "a": 1})"); }),
            R"(config.json is JSON with the key "a" twice; expected it once)");
  EXPECT_EQ(complaint([] { config(R"({"a": 1e999})"); }),
            "config.json is JSON with a number out of range; expected numbers below 1.8e308");
  EXPECT_EQ(complaint([] { config(R"({"a":)" + std::string(1'000'000, '[')); }),
            "config.json is JSON nested deeper than 64 levels; expected fewer");
  EXPECT_EQ(complaint([] { config(std::string(16'000'001, ' ')); }),
            "config.json is 16000001 bytes long; expected at most 16000000");
}

using ConfigFile = FolderTest;

TEST_F(ConfigFile, IsFoundInItsFolder) {
  EXPECT_EQ(complaint([&] { Config::read(folder_); }),
            path("config.json") + " is missing; expected the configuration of a model");
  file("config.json", R"({"a": 1})");
  EXPECT_EQ(Config::read(folder_).integer("a"), 1);
  EXPECT_EQ(Config::read(path("config.json")).integer("a"), 1);
  EXPECT_EQ(complaint([&] { Config::read(folder_).integer("b"); }),
            path("config.json") + ": b is missing; expected an integer");
}

}  // namespace
}  // namespace isentropic::checkpoint
