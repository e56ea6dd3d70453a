// Pages in a real browser, where there is one: the script runs to its end and draws what the data says.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "program.hpp"
#include "report/output_file.hpp"
#include "report/page.hpp"

namespace cli_test {
namespace {

// The document after its script has run; empty without a browser.
std::string drawn(const std::string& path) {
  const std::string command =
      "command -v chromium >/dev/null && timeout 60 chromium --headless --no-sandbox --disable-gpu --dump-dom "
      "'file://" +
      path + "' 2>/dev/null";
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[65536];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, got);
  ::pclose(pipe);
  return out;
}

int count(const std::string& text, const std::string& wanted) {
  int out = 0;
  for (std::size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) ++out;
  return out;
}

TEST_F(Program, TheLedgersPageDrawsItself) {
  ASSERT_EQ(run_program({"verify", "004-5", "004-6", "--html", path("out.html")}).status, 0);
  const std::string page = drawn(path("out.html"));
  if (page.empty()) GTEST_SKIP() << "no chromium here";
  const std::string body = page.substr(0, page.find("<script"));
  EXPECT_EQ(count(body, "class=\"card\""), 7);
  EXPECT_EQ(count(body, "<select"), 3);
  EXPECT_GE(count(body, "<svg"), 1);
  EXPECT_NE(body.find("7 of 7"), std::string::npos);  // the last thing the script writes
  // "004 sparsity" is no number, the count beside it is.
  EXPECT_EQ(count(body, "<th class=\"number\">source"), 0);
  EXPECT_EQ(count(body, "<th class=\"number\">claims"), 1);
}

TEST_F(Program, TheCurvesOfSparsityDrawThemselves) {
  ASSERT_EQ(run_program({"sparsity", "--keys", "100", "--html", path("out.html")}).status, 0);
  const std::string page = drawn(path("out.html"));
  if (page.empty()) GTEST_SKIP() << "no chromium here";
  const std::string body = page.substr(0, page.find("<script"));
  EXPECT_EQ(count(body, "<svg"), 2);
  EXPECT_EQ(count(body, "class=\"curve\""), 8 + 6);
  EXPECT_EQ(count(body, "class=\"dot\""), 10 * (8 + 6));
  EXPECT_EQ(count(body, "<tr"), 1 + 13 * 10);
}

TEST_F(Program, LongTablesOfACardFold) {
  using namespace isentropic::report;
  Card card{.title = "c", .numbers = {.columns = {"quantity", ""}}, .facets = {"f"}};
  for (int r = 0; r < 30; ++r) card.numbers.rows.push_back({"row " + std::to_string(r), r == 25 ? "fails" : ""});
  write_file("page", path("out.html"), html({.title = "t", .parts = {CardList{.facets = {"facet"}, .cards = {card}}}}));
  const std::string page = drawn(path("out.html"));
  if (page.empty()) GTEST_SKIP() << "no chromium here";
  const std::string body = page.substr(0, page.find("<script"));
  EXPECT_EQ(count(body, "<tr class=\"folded\""), 30 - 10 - 1);  // what failed stays in sight
  EXPECT_EQ(count(body, "<tr class=\"fails\""), 1);
  EXPECT_EQ(count(body, "all 30 rows"), 1);
}

TEST_F(Program, HeatMapsDrawThemselves) {
  using namespace isentropic::report;
  const HeatMap named{
      .title = "m", .rows = {{0, 1}, {0.5, NAN}}, .row_names = {"layer 0", "layer 1"}, .column_names = {"a", "b"}};
  const HeatMap numbered{.title = "many", .rows = std::vector(64, std::vector(64, 0.5))};
  write_file("page", path("out.html"), html({.title = "t", .subtitle = "s", .parts = {Row{{named, numbered}}, named}}));
  const std::string page = drawn(path("out.html"));
  if (page.empty()) GTEST_SKIP() << "no chromium here";
  const std::string body = page.substr(0, page.find("<script"));
  EXPECT_EQ(count(body, "data:image/png"), 3);
  EXPECT_EQ(count(body, ">layer 1<"), 2);
  EXPECT_EQ(count(body, ">b<"), 2);
  EXPECT_GE(count(body, ">60<"), 1);  // not every one of 64 is named
  EXPECT_EQ(count(body, ">61<"), 0);
}

}  // namespace
}  // namespace cli_test
