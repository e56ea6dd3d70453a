// isentropic mi from outside.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/random.hpp"
#include "program.hpp"

namespace cli_test {
namespace {

using nlohmann::json;

class Mi : public Program {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    std::ofstream(path(name)) << content;
    return path(name);
  }

  // Columns x, y (correlation .75), label (0 or 1 by the sign of x), z (independent).
  std::string gaussian_file(int rows) {
    isentropic::Random random(1);
    std::ostringstream out;
    out.precision(17);
    out << "x,y,label,z\n";
    for (int i = 0; i < rows; ++i) {
      const double x = random.normal(), y = .75 * x + std::sqrt(1 - .75 * .75) * random.normal();
      out << x << "," << y << "," << (x > 0 ? 1 : 0) << "," << random.normal() << "\n";
    }
    return file("gaussian.csv", out.str());
  }

  static json results(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return json::parse(outcome.out);
  }
};

TEST_F(Mi, GaussianColumns) {
  const std::string data = gaussian_file(3000);
  const double truth = -std::log(1 - .75 * .75) / 2;
  for (const std::string estimator : {"ksg1", "ksg2", "gaussian", "equal_mass", "binned"}) {
    const json found = results({"mi", data, "--x", "x", "--y", "y", "--estimator", estimator});
    EXPECT_NEAR(found["nats"], truth, .06) << estimator;
    EXPECT_NEAR(found["bits"].get<double>() * std::log(2), found["nats"], 1e-12);
    EXPECT_EQ(found["estimator"], estimator);
    EXPECT_EQ(found["n"], 3000);
    EXPECT_TRUE(found["warnings"].empty()) << found["warnings"];
    EXPECT_EQ(found.contains("k"), estimator.starts_with("ksg"));
    EXPECT_EQ(found.contains("p_value"), false);
  }
}

TEST_F(Mi, ChoosesTheEstimatorByTheData) {
  const std::string data = gaussian_file(1000);
  EXPECT_EQ(results({"mi", data, "--x", "x", "--y", "y"})["estimator"], "ksg1");
  EXPECT_EQ(results({"mi", data, "--x", "label", "--y", "y"})["estimator"], "mixed");
  const json labels = results({"mi", data, "--x", "label", "--y", "label", "--entropy", "plug_in"});
  EXPECT_EQ(labels["estimator"], "discrete");
  EXPECT_EQ(labels["estimator_chosen_by"], "data");
  EXPECT_NEAR(labels["bits"], 1, .01);
}

TEST_F(Mi, ConditionPermutationsAndInterval) {
  const std::string data = gaussian_file(500);
  const json found = results({"mi", data, "--x", "0", "--y", "1", "--given", "3", "--k", "4", "--permutations", "19",
                              "--halves", "10", "--seed", "5"});
  EXPECT_DOUBLE_EQ(found["p_value"], .05);
  EXPECT_EQ(found["k"], 4);
  EXPECT_EQ(found["given"], json({"z"}));
  EXPECT_LT(found["surrogates"]["mean"], .15);
  EXPECT_LT(found["interval"]["low"], found["nats"]);
  EXPECT_GT(found["interval"]["high"], found["nats"]);
  const json independent = results({"mi", data, "--x", "x", "--y", "z", "--permutations", "19"});
  EXPECT_LT(independent["nats"], .1);
  EXPECT_GT(independent["p_value"], .05);
}

TEST_F(Mi, TotalCorrelation) {
  std::string bits;
  for (int i = 0; i < 64; ++i)
    bits += std::to_string(i % 2) + " " + std::to_string(i / 2 % 2) + " " + std::to_string((i + i / 2) % 2) + "\n";
  const json found = results({"mi", file("parity.txt", bits), "--x", "0-2", "--total-correlation", "--estimator",
                              "discrete", "--entropy", "plug_in"});
  EXPECT_NEAR(found["total_correlation"].get<double>(), std::log(2), 1e-12);
  EXPECT_NEAR(found["dual_total_correlation"].get<double>(), 2 * std::log(2), 1e-12);
  EXPECT_LT(found["resampled_positions"]["total"], .2);
  EXPECT_FALSE(found.contains("nats"));
  const json all = results({"mi", path("parity.txt"), "--total-correlation", "--estimator", "discrete"});
  EXPECT_EQ(all["x"], json({"0", "1", "2"}));  // without explicit columns: all of them
}

TEST_F(Mi, ForPeople) {
  const Outcome outcome = run_program({"mi", gaussian_file(500), "--x", "x", "--y", "y", "--permutations", "9"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(outcome.out.starts_with("I(x;y) = ")) << outcome.out;
  const Outcome other = run_program({"mi", gaussian_file(500), "--x", "0,1", "--y", "label", "--given", "z"});
  EXPECT_TRUE(other.out.starts_with("I(x,y;label|z) = ")) << other.out << other.err;
  for (const char* part : {" nats = ", " bits", "ksg1 (chosen by the data), k = 3", "p = 0.1 (9 surrogates"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST_F(Mi, WarningsGoToStandardErrorAndIntoTheJson) {
  const Outcome outcome = run_program({"mi", gaussian_file(500), "--x", "x", "--y", "x", "--json"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err.find("isentropic: warning: few samples"), 0u) << outcome.err;
  const json found = json::parse(outcome.out);
  ASSERT_EQ(found["warnings"].size(), 1);
  EXPECT_NE(found["warnings"][0].get<std::string>().find("few samples"), std::string::npos);
}

TEST_F(Mi, BadInputIsOneLineAndStatus2) {
  const std::string data = file("a.csv", "x,y,c,t\n1,2,5,a\n2,1,5,b\n3,5,5,c\n4,4,5,d\n");
  const auto complains = [&](std::vector<std::string> arguments, const std::string& text) {
    arguments.insert(arguments.begin(), "mi");
    const Outcome outcome = run_program(arguments);
    expect_one_line_error(outcome, 2, text);
    EXPECT_EQ(outcome.out, "");
  };
  complains({path("none.csv"), "--x", "0", "--y", "1"}, "none.csv is missing; expected a data file");
  complains({data, "--x", "0"}, "--y is missing");
  complains({data, "--y", "0"}, "--x");
  complains({data, "--x", "0", "--y", "4"}, "--y is '4'; expected a column from 0 to 3 or one of x, y, c, t");
  complains({data, "--x", "u", "--y", "y"}, "--x is 'u'");
  complains({data, "--x", "x", "--y", "t"},
            "--y, with text in column t, is different in 4 of 4 rows; expected categories");
  complains({data, "--x", "x", "--y", "c"}, "column c of --y is constant");
  complains({data, "--x", "x", "--y", "y", "--k", "4"}, "--k is 4; expected less than the 4 samples");
  complains({data, "--x", "x", "--y", "y", "--k", "0"}, "--k is 0");
  complains({data, "--x", "x", "--y", "y", "--estimator", "best"},
            "--estimator is 'best'; expected one of auto, ksg1, ksg2, gaussian, binned, equal_mass, discrete, mixed, "
            "mesner_shalizi");
  complains({data, "--x", "x", "--y", "y", "--estimator", "gaussian", "--k", "2"}, "--k is 2; expected an --estimator");
  complains({data, "--x", "x", "--y", "y", "--estimator", "discrete", "--entropy", "x"}, "--entropy is 'x'");
  complains({data, "--x", "x", "--y", "y", "--scaling", "log"}, "--scaling is 'log'");
  complains({data, "--x", "x", "--y", "y", "--permutations", "-1"}, "--permutations is -1");
  complains({data, "--x", "x", "--total-correlation", "--permutations", "5"}, "--permutations is 5; expected --y");
  complains({data, "--x", "x,y", "--y", "y", "--given", "x", "--estimator", "ksg2", "--k", "1"},
            "ksg2, with a condition");
  complains({file("b.csv", "1,2\n3,4,5\n"), "--x", "0", "--y", "1"}, "b.csv, line 2 is 3 cells long");
  complains({file("c.csv", ""), "--x", "0", "--y", "1"}, "c.csv is empty");
  complains({file("d.csv", "1,2\n2,nan\n3,3\n4,5\n"), "--x", "0", "--y", "1"},
            "d.csv, line 2, column 1 is nan; expected a value, or --drop-missing");
  complains({file("e.npy", "no array"), "--x", "0", "--y", "0"}, "e.npy is without NumPy's first bytes");
}

// A column of repeating integers, each occurring about ten times: the normal x in tenths. The information is that of x
// and y up to rounding, 0.3 of 1/100.
TEST_F(Mi, ChoosesAnEstimatorThatSurvivesTies) {
  const double truth = -std::log(1 - .665 * .665) / 2;
  for (const std::uint64_t seed : {1, 2, 3}) {
    isentropic::Random random(seed);
    std::ostringstream out;
    out << "tenths,y,y_tenths\n";
    for (int i = 0; i < 600; ++i) {
      const double x = random.normal(), y = .665 * x + std::sqrt(1 - .665 * .665) * random.normal();
      out << std::round(10 * x) << "," << y << "," << std::round(10 * y) << "\n";
    }
    const std::string data = file("tenths.csv", out.str());
    for (const std::string other : {"y", "y_tenths"}) {
      const json found = results({"mi", data, "--x", "tenths", "--y", other});
      EXPECT_NEAR(found["nats"], truth, .1) << other;
      EXPECT_EQ(found["estimator"], "mesner_shalizi");
      EXPECT_TRUE(found["warnings"].empty()) << found["warnings"];
      EXPECT_GT(results({"mi", data, "--x", "tenths", "--y", other, "--estimator", "ksg1"})["nats"], truth + .12);
    }
  }
}

// Text labels against the numbers 0 to 3 that they stand for.
TEST_F(Mi, TruthAndTextAreSymbols) {
  isentropic::Random random(1);
  std::ostringstream out;
  out << "flag,flag_number,season,season_number,size\n";
  const std::vector<std::string> seasons = {"winter", "spring", "summer", "\"autumn, or so\""};
  for (int i = 0; i < 400; ++i) {
    const int season = static_cast<int>(random.integer(0, 3));
    const bool flag = random.uniform() < (season == 2 ? .9 : .3);
    out << (flag ? "True," : "False,") << flag << "," << seasons[static_cast<std::size_t>(season)] << "," << season
        << "," << season % 2 + random.normal() << "\n";
  }
  const std::string data = file("seasons.csv", out.str());
  const auto same = [&](const std::vector<std::string>& words, const std::vector<std::string>& numbers) {
    json in_words = results(words), in_numbers = results(numbers);
    EXPECT_EQ(in_words["nats"], in_numbers["nats"]);
    EXPECT_EQ(in_words["estimator"], in_numbers["estimator"]);
    return in_words["estimator"].get<std::string>();
  };
  EXPECT_EQ(
      same({"mi", data, "--x", "flag", "--y", "season"}, {"mi", data, "--x", "flag_number", "--y", "season_number"}),
      "discrete");
  EXPECT_EQ(same({"mi", data, "--x", "season", "--y", "size"}, {"mi", data, "--x", "season_number", "--y", "size"}),
            "mixed");
  EXPECT_EQ(same({"mi", data, "--x", "size", "--y", "flag", "--estimator", "ksg1"},
                 {"mi", data, "--x", "size", "--y", "flag_number", "--estimator", "ksg1"}),
            "ksg1");
  EXPECT_EQ(same({"mi", data, "--x", "flag", "--y", "flag", "--given", "season"},
                 {"mi", data, "--x", "flag", "--y", "flag", "--given", "season_number"}),
            "discrete");
  // Numbers that encode text are not coordinates.
  for (const std::string estimator : {"ksg1", "ksg2", "gaussian", "binned", "equal_mass", "mesner_shalizi"})
    expect_one_line_error(run_program({"mi", data, "--x", "season", "--y", "size", "--estimator", estimator}), 2,
                          "--estimator is " + estimator + ", for text in column season; expected discrete, or mixed");
  expect_one_line_error(run_program({"mi", data, "--x", "size", "--y", "flag_number", "--given", "season"}), 2,
                        "--x is numbers that hardly repeat, beside text; expected values that repeat");
}

TEST_F(Mi, MissingCellsAreDroppedOnDemand) {
  std::string full = "x,y,c\n", holes = full;
  for (int i = 0; i < 60; ++i) {
    const std::string row = std::to_string(i * 37 % 60) + "," + std::to_string(i * i % 61) + "," + "abc"[i % 3] + "\n";
    full += row;
    holes += row;
    if (i % 10 == 0) holes += std::to_string(i) + ",,a\n";
    if (i % 20 == 0) holes += "NaN," + std::to_string(i) + ",b\n";
  }
  const std::string whole = file("full.csv", full), data = file("holes.csv", holes);
  expect_one_line_error(run_program({"mi", data, "--x", "x", "--y", "y"}), 2,
                        "holes.csv, line 3, column 1 (y) is empty; expected a value, or --drop-missing");
  const json found = results({"mi", data, "--x", "x", "--y", "y", "--drop-missing"});
  EXPECT_EQ(found["nats"], results({"mi", whole, "--x", "x", "--y", "y"})["nats"]);
  EXPECT_EQ(found["n"], 60);
  EXPECT_EQ(found["rows_dropped"], 9);
  EXPECT_NE(
      run_program({"mi", data, "--x", "x", "--y", "y", "--drop-missing"}).out.find("60 (9 more had a missing cell)"),
      std::string::npos);
  EXPECT_EQ(results({"mi", data, "--x", "c", "--y", "c", "--drop-missing"})["rows_dropped"],
            0);  // only the requested columns count
}

}  // namespace
}  // namespace cli_test
