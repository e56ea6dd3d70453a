// The program from outside: exit status 0, 1 or 2, one-line errors, valid JSON, no half-written files.
#include "program.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "isentropic/version.hpp"

namespace cli_test {
namespace {

using nlohmann::json;

TEST_F(Program, AloneAndAskedPrintsHelp) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"--help"}, {"lengths", "--help"}}) {
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("lengths"), std::string::npos);
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_F(Program, SaysItsVersion) {
  const Outcome outcome = run_program({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "isentropic " ISENTROPIC_VERSION "\n");
}

TEST_F(Program, UsageErrorsAreOneLineAndStatus2) {
  expect_one_line_error(run_program({"length"}), 2, "length");
  expect_one_line_error(run_program({"lengths", "--depth", "3"}), 2, "--depth");
  expect_one_line_error(run_program({"lengths", "--d"}), 2, "--d");
  expect_one_line_error(run_program({"lengths", "--d", "64x"}), 2, "--d is 64x; expected an integer from 2 to 1024");
  expect_one_line_error(run_program({"lengths", "--d", "1"}), 2, "--d is 1; expected an integer from 2 to 1024");
  expect_one_line_error(run_program({"lengths", "--seed", "-1"}), 2, "--seed is -1; expected an integer from 0");
  expect_one_line_error(run_program({"lengths", "--laws", "log_n,log_m"}), 2, "--laws is log_m; expected some of ");
  expect_one_line_error(run_program({"lengths", "--positions", "learned"}), 2,
                        "--positions is learned; expected none, ");
  expect_one_line_error(run_program({"lengths", "--strength", "1"}), 2, "--strength is 1; expected --positions");
  expect_one_line_error(run_program({"lengths", "--positions", "alibi", "--strength", "nan"}), 2, "--strength is nan");
  expect_one_line_error(run_program({"lengths", "--positions", "alibi", "--laws", "target_entropy"}), 2, "--laws is ");
  expect_one_line_error(run_program({"lengths", "--quick", "--thorough"}), 2, "--thorough");
  expect_one_line_error(run_program({"lengths", "--json", "-", "--svg", "-"}), 2, "--svg is -; expected a file");
}

TEST_F(Program, BadPathsFailBeforeTheWorkStarts) {
  expect_one_line_error(run_program({"lengths", "--json", path("missing/out.json")}), 1,
                        "--json is " + path("missing/out.json") + "; expected a file that can be written");
  expect_one_line_error(run_program({"lengths", "--svg", folder_.string()}), 1, "--svg is " + folder_.string());
  // The first path is valid, the second is not: neither file is created.
  expect_one_line_error(run_program({"lengths", "--json", path("out.json"), "--svg", path("missing/out.svg")}), 1,
                        "--svg is ");
  EXPECT_EQ(files(), 0);
}

TEST_F(Program, LengthsWritesTablesJsonAndPicture) {
  const Outcome outcome = run_program({"lengths", "--quick", "--laws", "inverse_sqrt_d,log_n", "--d", "16", "--seed",
                                       "7", "--json", path("out.json"), "--svg", path("out.svg")});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("slope dH/dlog n"), std::string::npos);
  EXPECT_NE(outcome.out.find("log n/d"), std::string::npos);
  // Not a terminal: reports the resources that the run needs, but no progress.
  EXPECT_NE(outcome.err.find("MiB"), std::string::npos);
  EXPECT_EQ(outcome.err.find('\r'), std::string::npos);

  std::ifstream json_file(path("out.json")), svg_file(path("out.svg"));
  const json result = json::parse(json_file);
  EXPECT_EQ(result["parameters"]["d"], 16);
  EXPECT_EQ(result["parameters"]["seed"], 7);
  EXPECT_NEAR(result["sweeps"][0]["curves"][0]["slope"]["mean"].get<double>(), 1.0, 0.02);
  std::string svg(std::istreambuf_iterator<char>(svg_file), {});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_EQ(files(), 2);
}

TEST_F(Program, LengthsPrintsJson) {
  const Outcome outcome = run_program({"lengths", "--quick", "--laws", "log_n", "--json", "-"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["command"], "lengths");
}

TEST_F(Program, InterruptLeavesNoFile) {
  const Outcome outcome = run_program({"lengths", "--thorough", "--json", path("out.json"), "--svg", path("out.svg")},
                                      {.interrupt_after = 0.5});
  EXPECT_EQ(outcome.signal, SIGINT);
  EXPECT_EQ(files(), 0);
}

TEST_F(Program, BenchTimesEveryCaseAndWritesJson) {
  const Outcome outcome = run_program({"bench", "attention", "--n", "64,128", "--d", "16", "--heads", "4", "--decode",
                                       "600", "--seconds", "0.01", "--json", path("bench.json")});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(std::ifstream(path("bench.json")));
  EXPECT_GE(report["machine"]["threads"], 1);
  EXPECT_GT(report["machine"]["fma_peak_gflops"], 0.0);
  EXPECT_NE(run_program({"info"}).out.find(report["machine"]["isa"]), std::string::npos);
  // Two lengths, two types, full and causal; forward with four sets of statistics, statistics only, backward.
  ASSERT_EQ(report["cases"].size(), 2u * 2 * 2 * 6);
  for (const json& timing : report["cases"]) {
    EXPECT_TRUE(timing["n"] == 64 || timing["n"] == 128);
    EXPECT_GT(timing["seconds"], 0.0);
    const double n = timing["n"], pairs = timing["causal"] ? n * (n + 1) / 2 : n * n;
    const double operations = pairs * 16 * 4 *
                              (timing["pass"] == "forward"    ? 4
                               : timing["pass"] == "backward" ? 10
                                                              : 2);
    EXPECT_NEAR(timing["gflops"].get<double>() * timing["seconds"].get<double>() * 1e9 / operations, 1, 1e-9);
    EXPECT_GT(timing["peak_fraction"], 0.0);
  }
  ASSERT_EQ(report["decode"].size(), 2u * 2);  // types, groups of heads
  for (const json& timing : report["decode"]) EXPECT_GT(timing["read_fraction"], 0.0);
}

TEST_F(Program, BenchRefusesWhatItCannotTime) {
  expect_one_line_error(run_program({"bench", "attention", "--n", "0"}), 2, "--n");
  expect_one_line_error(run_program({"bench", "attention", "--heads", "many"}), 2, "--heads");
  expect_one_line_error(run_program({"bench", "attention", "--json", path("missing/bench.json")}), 1, "--json");
}

TEST_F(Program, InfoListsWhatThereIs) {
  const Outcome text = run_program({"info"}), machine = run_program({"info", "--json"});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("statistics"), std::string::npos);
  EXPECT_NE(text.out.find("linear:feature,normaliser,gamma,recurrent,sharpen"), std::string::npos);
  const json info = json::parse(machine.out);
  EXPECT_EQ(info["version"], ISENTROPIC_VERSION);
  EXPECT_GE(info["threads"].get<int>(), 1);
  const auto has = [&](const char* list, const char* name) {
    return std::find(info[list].begin(), info[list].end(), name) != info[list].end();
  };
  EXPECT_TRUE(has("statistics", "entropy"));
  EXPECT_TRUE(has("scales", "target_entropy"));
  EXPECT_TRUE(has("maps", "sparsemax"));
  EXPECT_TRUE(has("types", "bfloat16"));
}

}  // namespace
}  // namespace cli_test
