// isentropic noise from outside: errors, warnings and output.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace cli_test {
namespace {

using nlohmann::json;

void expect_usage_error(const std::vector<std::string>& arguments, const std::string& part) {
  const Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST(NoiseCommand, RefusesNoiseWithoutAMoment) {
  expect_usage_error({"noise", "--family", "laplace", "--strength", "1"}, "--strength is 1; expected b < 1");
  expect_usage_error({"noise", "--family", "laplace", "--strength", "1.5"}, "E e^eps is infinite");
  expect_usage_error({"noise", "--family", "gumbel", "--strength", "1"}, "--strength is 1; expected tau > 1");
}

TEST(NoiseCommand, RefusesWhatItCannotRead) {
  expect_usage_error({"noise", "--family", "cauchy"}, "--family is cauchy; expected one of gaussian, ");
  expect_usage_error({"noise", "--strength", "1"}, "--strength is 1; expected --family");
  expect_usage_error({"noise", "--family", "gaussian", "--strength", "x"}, "--strength is x");
  expect_usage_error({"noise", "--family", "gaussian", "--strength", "-1"}, "--strength is -1; expected sigma from");
  expect_usage_error({"noise", "--family", "groups", "--strength", "1.5"},
                     "--strength is 1.5; expected a whole number");
  expect_usage_error({"noise", "--draws", "1"}, "--draws is 1");
  expect_usage_error({"noise", "--json", "-", "--svg", "-"}, "--svg is -");
}

TEST(NoiseCommand, WarnsOfASlowRateAndGoesOn) {
  const Outcome outcome =
      run_program({"noise", "--family", "laplace", "--strength", "0.75", "--draws", "20", "--json", "-"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("slower than n^-0.5"), std::string::npos) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["command"], "noise");
  EXPECT_TRUE(result["noise"][0]["points"][0]["predicted_bias"].is_null());
}

TEST(NoiseCommand, PrintsEveryFamilyAndTheAttacks) {
  const Outcome outcome = run_program({"noise", "--draws", "20", "--seed", "7"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"Gaussian, sigma = 1", "Uniform, a = 1", "Laplace, b = 0.3", "Gumbel, tau = 3", "g = 16",
                           "c = 0.5", "budget", "predicted"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
}

TEST(NoiseCommand, WritesFiles) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "noise_command";
  std::filesystem::create_directories(folder);
  const std::string json_path = (folder / "out.json").string(), svg_path = (folder / "out.svg").string();
  const Outcome outcome = run_program(
      {"noise", "--family", "uniform", "--strength", "0.5", "--draws", "20", "--json", json_path, "--svg", svg_path});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::ifstream json_file(json_path), svg_file(svg_path);
  const json result = json::parse(json_file);
  EXPECT_EQ(result["noise"][0]["strength"], 0.5);
  EXPECT_EQ(result["attacks"].size(), 9u);
  const std::string svg(std::istreambuf_iterator<char>(svg_file), {});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cli_test
