// isentropic verify from outside.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "program.hpp"

namespace cli_test {
namespace {

using nlohmann::json;

TEST_F(Program, VerifyPrintsALineForEachClaim) {
  const Outcome outcome = run_program({"verify", "004-5", "001-44"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  for (const std::string id : {"004-5 ", "004-5b", "004-5c", "001-44"})
    EXPECT_NE(outcome.out.find(id), std::string::npos) << id;
  EXPECT_NE(outcome.out.find("4 passed, 0 failed"), std::string::npos) << outcome.out;
}

TEST_F(Program, VerifyWritesJsonAndAPage) {
  const Outcome outcome =
      run_program({"verify", "004-9b", "--seed", "5", "--json", path("out.json"), "--html", path("out.html")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::ifstream file(path("out.json"));
  const json document = json::parse(file);
  const json& claim = document["claims"][0];
  EXPECT_EQ(claim["id"], "004-9b");
  EXPECT_EQ(claim["verdict"], "corrected");
  EXPECT_EQ(claim["passed"], true);
  EXPECT_EQ(claim["printed_form_fails"], true);
  EXPECT_FALSE(claim["measured"].empty());
  EXPECT_TRUE(claim["tolerance"].is_number());
  EXPECT_EQ(document["seed"], 5);
  std::ostringstream page;
  page << std::ifstream(path("out.html")).rdbuf();
  EXPECT_NE(page.str().find("004-9b"), std::string::npos);
  EXPECT_EQ(files(), 2);
}

TEST_F(Program, VerifyWithJsonOnStandardOutputPrintsNothingElse) {
  const Outcome outcome = run_program({"verify", "001-44", "--json", "-"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(json::parse(outcome.out)["passed"], 1);
}

TEST_F(Program, VerifyRefusesWhatIsNotThere) {
  expect_one_line_error(run_program({"verify", "005"}), 2, "ID-PREFIX is 005; expected the beginning of a claim's id");
  expect_one_line_error(run_program({"verify", "--seed", "x"}), 2, "--seed is x");
  expect_one_line_error(run_program({"verify", "--html", path("missing/out.html")}), 1, "--html is ");
}

}  // namespace
}  // namespace cli_test
