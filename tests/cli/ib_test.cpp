// isentropic ib from outside: the curve of a joint distribution in a file, and one-line errors for anything else.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "information/joints.hpp"
#include "program.hpp"

namespace cli_test {
namespace {

using nlohmann::json;

class Bottleneck : public Program {
 protected:
  std::string file(const std::string& text) const {
    std::ofstream(path("joint.csv")) << text;
    return path("joint.csv");
  }
  std::string eight_by_three() const {
    const isentropic::information::Table joint = isentropic::information::eight_by_three();
    std::ofstream out(path("joint.csv"));
    out.precision(17);
    out << "a,b,c\n";
    for (std::size_t x = 0; x < joint.rows; ++x) out << joint(x, 0) << "," << joint(x, 1) << "," << joint(x, 2) << "\n";
    return path("joint.csv");
  }
};

TEST_F(Bottleneck, PrintsTheCurve) {
  const Outcome outcome = run_program({"ib", eight_by_three(), "--betas", "0.001,0.3,0.63,0.65"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");  // not a terminal: no progress
  for (const std::string part : {"8 x 3", "H(X) 2.0504", "H(Y) 0.9592", "I(X;Y) 0.4253", "critical beta 0.6339",
                                 "0.5973", "0.3000   0.4988   0.2547", "0.6300   0.0123   0.0078"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST_F(Bottleneck, WritesJsonOfAFileWhoseNameIsNotUtf8) {
  const std::string joint = path("joint\xff.csv");
  std::ofstream(joint) << ".4,.1\n.1,.4\n";
  const Outcome outcome = run_program({"ib", joint, "--betas", "0.2", "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["rows"], 2);
}

TEST_F(Bottleneck, WritesJsonAndPicture) {
  const std::string joint = eight_by_three();
  const Outcome outcome = run_program({"ib", joint, "--json", path("out.json"), "--svg", path("out.svg")});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::ifstream json_file(path("out.json")), svg_file(path("out.svg"));
  const json result = json::parse(json_file);
  EXPECT_EQ(result["command"], "ib");
  EXPECT_NEAR(result["critical_beta"]["global"].get<double>(), .6339, 5e-5);
  EXPECT_NEAR(result["critical_beta"]["local"].get<double>(), .5973, 5e-5);
  EXPECT_LT(result["defects"]["slope"].get<double>(), 1e-3);
  const json& first = result["points"].front();
  EXPECT_NEAR(first["information_y"].get<double>(), .42527, 1e-3);
  EXPECT_EQ(first["encoder"].size(), 8u);
  double sum = 0;
  for (const json& p : first["encoder"][0]) sum += p.get<double>();
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_EQ(result["points"].back()["information_x"], 0.0);  // 2% above the critical beta
  const std::string svg(std::istreambuf_iterator<char>(svg_file), {});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  for (const std::string part : {"I(X;Y)", "I(Z;Y) = I(Z;X)", "best codes"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  EXPECT_EQ(files(), 3);
}

TEST_F(Bottleneck, JsonOnStandardOutputIsAlone) {
  const Outcome outcome = run_program({"ib", file(".5 0\n0 .5\n"), "--json", "-", "--deterministic"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["parameters"]["kind"], "deterministic");
  EXPECT_NEAR(result["points"][0]["information_y"].get<double>(), std::log(2), 1e-12);
  EXPECT_NEAR(result["critical_beta"]["global"].get<double>(), 1, 1e-9);
}

TEST_F(Bottleneck, CountsOnDemand) {
  const std::string counts = file("40,10\n10,40\n");
  expect_one_line_error(run_program({"ib", counts}), 2, "the sum of JOINT is 100; expected 1, or --normalise");
  const Outcome outcome = run_program({"ib", counts, "--normalise"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("critical beta 0.3600"), std::string::npos) << outcome.out;  // (1 - 2/5)^2
}

// Tables as pandas writes them: with a leading index, and columns labelled by numbers or names.
TEST_F(Bottleneck, TheIndexOfATableIsNoData) {
  const std::string plain = run_program({"ib", file("40,10\n10,40\n"), "--normalise"}).out;
  for (const std::string table :
       {",a,b\n0,40,10\n1,10,40\n", ",0,1\n0,40,10\n1,10,40\n", "size,a,b\nS,40,10\nL,10,40\n"}) {
    const Outcome outcome = run_program({"ib", file(table), "--normalise"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, plain) << table;
    EXPECT_NE(outcome.err.find("was left out"), std::string::npos) << outcome.err;
  }
}

// A crosstab of integers, whose labels look like data.
TEST_F(Bottleneck, ColumnsOnDemand) {
  const std::string table = file("age,a,b\n20,30,10\n30,20,20\n40,10,30\n");
  const Outcome all = run_program({"ib", table, "--normalise"});
  EXPECT_NE(all.out.find("3 x 3"), std::string::npos) << all.out;
  EXPECT_EQ(all.err, "ib: column age was read as data; if it names the rows, give --columns without it\n");
  const Outcome chosen = run_program({"ib", table, "--normalise", "--columns", "a,b"});
  EXPECT_EQ(chosen.err, "");
  EXPECT_EQ(chosen.out, run_program({"ib", file("30,10\n20,20\n10,30\n"), "--normalise"}).out);
}

TEST_F(Bottleneck, IndependentVariablesHaveNothingToKeep) {
  const Outcome outcome = run_program({"ib", file(".12,.28\n.18,.42\n"), "--svg", path("out.svg")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("critical beta 0.0000"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("nan"), std::string::npos) << outcome.out;
  EXPECT_EQ(files(), 2);
}

TEST_F(Bottleneck, BadInputIsOneLineAndStatus2) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {".5,.5\n.5,-.5\n", "joint.csv: p(x = 1, y = 1) is -0.5; expected a probability"},
      {".5,.2\n.1,.1\n", "the sum of JOINT is 0.9; expected 1"},
      {"0,0\n0,0\n", "the sum of JOINT is 0; expected 1"},
      {".5,.2\n.1,x\n", "joint.csv, line 2, column 1 is x; expected a finite number"},
      {".5,nan\n.1,.1\n", "line 1, column 1 is nan; expected a value"},
      {".5,.2\n.3\n", "line 2 is 1 cells long; expected 2, as the first line"},
      {".5,.5\n", "JOINT is 1 x 2; expected 2 to 2000 rows and columns"},
      {"1\n0\n", "JOINT is 2 x 1; expected 2 to 2000 rows and columns"},
      {"", "is empty; expected at least one row of numbers"}};
  for (const auto& [text, part] : cases) {
    const Outcome outcome = run_program({"ib", file(text), "--json", path("out.json"), "--svg", path("out.svg")});
    expect_one_line_error(outcome, 2, part);
    EXPECT_EQ(files(), 1) << text;  // only the joint
  }
  expect_one_line_error(run_program({"ib", path("missing.csv")}), 2,
                        path("missing.csv") + " is missing; expected a data file");
  expect_one_line_error(run_program({"ib", folder_.string()}), 2, "is a directory; expected a data file");
  expect_one_line_error(run_program({"ib", file("0,0\n0,0\n"), "--normalise"}), 2, "expected a number > 0");
  expect_one_line_error(run_program({"ib"}), 2, "JOINT");
}

TEST_F(Bottleneck, BadOptions) {
  const std::string joint = file(".5,0\n0,.5\n");
  expect_one_line_error(run_program({"ib", joint, "--betas", "0.5,0.4"}), 2, "--betas is 0.4; expected increasing");
  expect_one_line_error(run_program({"ib", joint, "--betas", "0"}), 2, "--betas is 0; expected a number from");
  expect_one_line_error(run_program({"ib", joint, "--betas", "x"}), 2, "--betas is x");
  expect_one_line_error(run_program({"ib", joint, "--seed", "-1"}), 2, "--seed is -1");
  expect_one_line_error(run_program({"ib", joint, "--json", "-", "--svg", "-"}), 2, "--svg is -; expected a file");
  expect_one_line_error(run_program({"ib", joint, "--svg", path("missing/out.svg")}), 1, "--svg is ");
}

}  // namespace
}  // namespace cli_test
