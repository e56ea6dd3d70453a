// isentropic sparsity from outside.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.hpp"

namespace cli_test {
namespace {

using nlohmann::json;

TEST_F(Program, SparsityWritesATableAndFiles) {
  const Outcome outcome = run_program({"sparsity", "--keys", "500", "--seed", "3", "--json", path("out.json"), "--svg",
                                       path("out.svg"), "--html", path("out.html")});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("relu²"), std::string::npos);
  EXPECT_NE(outcome.out.find("0.7979"), std::string::npos);  // sqrt(2/pi)
  const json result = json::parse(text_of(path("out.json")));
  EXPECT_EQ(result["parameters"]["keys"], 500);
  EXPECT_EQ(result["parameters"]["seed"], 3);
  EXPECT_EQ(result["curves"].size(), 13u);
  EXPECT_EQ(text_of(path("out.svg")).rfind("<svg ", 0), 0u);
  EXPECT_EQ(text_of(path("out.html")).rfind("<!doctype html>", 0), 0u);
  EXPECT_EQ(files(), 3);
}

TEST_F(Program, SparsityPrintsJsonOrAPicture) {
  EXPECT_EQ(json::parse(run_program({"sparsity", "--keys", "100", "--json", "-"}).out)["command"], "sparsity");
  EXPECT_EQ(run_program({"sparsity", "--keys", "100", "--svg", "-"}).out.rfind("<svg ", 0), 0u);
}

TEST_F(Program, SparsityRefusesBadInput) {
  expect_one_line_error(run_program({"sparsity", "--keys", "99"}), 2, "--keys is 99; expected an integer from 100");
  expect_one_line_error(run_program({"sparsity", "--keys", "many"}), 2, "--keys is many");
  expect_one_line_error(run_program({"sparsity", "--seed", "-1"}), 2, "--seed is -1");
  expect_one_line_error(run_program({"sparsity", "--json", "-", "--svg", "-"}), 2, "--svg is -; expected a file");
  expect_one_line_error(run_program({"sparsity", "--beta", "1"}), 2, "--beta");
  expect_one_line_error(run_program({"sparsity", "--html", path("missing/out.html")}), 1, "--html is ");
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace cli_test
