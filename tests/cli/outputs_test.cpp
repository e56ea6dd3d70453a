// Where results go: every command writes to standard output or to files by the same rules, and reports failures.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace cli_test {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

class Outputs : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::ofstream(path("joint.csv")) << ".4,.1\n.1,.4\n";
    std::ofstream data(path("data.csv"));
    data << "x,y\n";
    for (int i = 0; i < 40; ++i) data << i << "," << i * i % 41 << "\n";
  }

  // A short run of each command, and the outputs it supports.
  struct Command {
    Arguments arguments;
    std::vector<std::string> outputs;
  };
  std::vector<Command> commands() const {
    return {{{"lengths", "--quick", "--laws", "log_n", "--d", "4"}, {"--json", "--svg", "--html"}},
            {{"noise", "--family", "uniform", "--draws", "10"}, {"--json", "--svg"}},
            {{"sparsity", "--keys", "100"}, {"--json", "--svg", "--html"}},
            {{"verify", "001-44"}, {"--json", "--html"}},
            {{"mi", path("data.csv"), "--x", "x", "--y", "y"}, {"--json"}},
            {{"ib", path("joint.csv"), "--betas", "0.2"}, {"--json", "--svg", "--html"}},
            {{"bench", "attention", "--n", "64", "--d", "16", "--heads", "1", "--decode", "0", "--seconds", "0"},
             {"--json"}},
            {{"info"}, {"--json"}}};
  }
  static Arguments with(Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static bool is(const std::string& output, const std::string& text) {
    if (output == "--json") return json::accept(text);
    return text.starts_with(output == "--svg" ? "<svg " : "<!doctype html>");
  }
};

TEST_F(Outputs, GoToStandardOutputOrToAFile) {
  for (const auto& [arguments, outputs] : commands())
    for (const std::string& output : outputs) {
      for (const Arguments& dash : {Arguments{output, "-"}, Arguments{output}}) {
        const Outcome alone = run_program(with(arguments, dash));
        EXPECT_EQ(alone.status, 0) << alone.err;
        EXPECT_TRUE(is(output, alone.out)) << arguments[0] << output << alone.out.substr(0, 200);
      }
      const Outcome file = run_program(with(arguments, {output, path("out")}));
      EXPECT_EQ(file.status, 0) << file.err;
      EXPECT_FALSE(is(output, file.out));
      EXPECT_NE(file.out, "");
      std::ifstream in(path("out"));
      EXPECT_TRUE(is(output, {std::istreambuf_iterator<char>(in), {}}));
      // The message says what was written and how to view it.
      EXPECT_NE(file.err.find(": wrote " + path("out")), std::string::npos) << file.err;
      EXPECT_EQ(file.err.find("web browser") != std::string::npos, output != "--json") << file.err;
      std::filesystem::remove(path("out"));
    }
  EXPECT_EQ(files(), 2);
}

TEST_F(Outputs, OfNoName) {
  for (const auto& [arguments, outputs] : commands())
    for (const std::string& output : outputs)
      expect_one_line_error(run_program(with(arguments, {output, ""})), 2,
                            output + " is empty; expected the name of a file, or - for standard output");
  EXPECT_EQ(files(), 2);
}

TEST_F(Outputs, OneFileForTwo) {
  for (const auto& [arguments, outputs] : commands()) {
    if (outputs.size() < 2) continue;
    for (const std::string& other : {path("out"), path("./out"), path("../" + folder_.filename().string() + "/out")})
      expect_one_line_error(run_program(with(arguments, {outputs[0], path("out"), outputs.back(), other})), 2,
                            outputs.back() + " is " + other + "; expected a file of its own");
    expect_one_line_error(run_program(with(arguments, {outputs[0], "-", outputs.back(), "-"})), 2,
                          outputs.back() + " is -; expected a file of its own");
  }
  std::ofstream(path("a")) << "old";
  std::filesystem::create_symlink("a", path("b"));
  expect_one_line_error(run_program({"sparsity", "--keys", "100", "--json", path("a"), "--svg", path("b")}), 2,
                        "--svg");
  EXPECT_EQ(files(), 4);
}

TEST_F(Outputs, TheInputIsNotOverwritten) {
  const std::string joint = path("joint.csv"), data = path("data.csv");
  expect_one_line_error(run_program({"ib", joint, "--json", joint}), 2, "--json is " + joint);
  expect_one_line_error(run_program({"mi", data, "--x", "x", "--y", "y", "--json", data}), 2, "--json is " + data);
}

TEST_F(Outputs, AFullDeviceIsAFailure) {
  std::vector<Arguments> all = {{}, {"--help"}, {"--version"}, {"mi", "--help"}, {"verify", "001-44", "--details"}};
  for (const Command& command : commands()) {
    all.push_back(command.arguments);
    for (const std::string& output : command.outputs) all.push_back(with(command.arguments, {output, "-"}));
  }
  for (const Arguments& arguments : all) {
    const Outcome outcome = run_program(arguments, {.standard_output = "/dev/full"});
    EXPECT_EQ(outcome.status, 1) << testing::PrintToString(arguments);
    EXPECT_NE(outcome.err.find("isentropic: standard output could not be written"), std::string::npos) << outcome.err;
  }
}

TEST_F(Outputs, TerminalsAreNotObeyed) {
  const std::string clear = "\x1b[2J";
  std::ofstream(path("names.csv")) << "a" << clear << ",b\xc2\x9b,\xc3\xa4\xff\n1,2,3\n2,1,5\n3,5,4\n4,4,1\n5,3,2\n";
  const Outcome named = run_program({"mi", path("names.csv"), "--x", "0", "--y", "1,2"});
  EXPECT_EQ(named.status, 0) << named.err;
  EXPECT_TRUE(named.out.starts_with("I(a\\x1b[2J;b\\xc2\\x9b,\xc3\xa4\\xff) = ")) << named.out;
  expect_one_line_error(run_program({"mi", path("names.csv"), "--x", "none", "--y", "1"}), 2, "a\\x1b[2J, b\\xc2\\x9b");
  expect_one_line_error(run_program({"mi", path("no" + clear + "\nne.csv"), "--x", "0", "--y", "1"}), 2,
                        "no\\x1b[2J\\x0ane.csv is missing");
  std::filesystem::copy(path("joint.csv"), path("joint" + clear));
  const Outcome outcome = run_program({"ib", path("joint" + clear), "--json", path("out" + clear)});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ((outcome.out + outcome.err).find('\x1b'), std::string::npos) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("joint\\x1b[2J: 2 x 2"), std::string::npos) << outcome.out;
}

TEST_F(Outputs, LongWorkSaysWhatItTakes) {
  const Arguments permutations = {"mi", path("data.csv"), "--x", "x", "--y", "y", "--permutations", "1000000"};
  const Outcome outcome = run_program(with(permutations, {"--json", path("out.json")}), {.interrupt_after = 0});
  EXPECT_EQ(outcome.signal, SIGINT);
  EXPECT_TRUE(outcome.err.starts_with("mi: takes about ")) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with(" and 1 MiB of memory\n")) << outcome.err;
  EXPECT_EQ(files(), 2);
}

TEST_F(Outputs, ProgressOnATerminalOnly) {
  const Arguments permutations = {"mi", path("data.csv"), "--x", "x", "--y", "y", "--permutations", "19"};
  EXPECT_EQ(run_program(permutations).err, "");
  const Outcome shown = run_program(permutations, {.terminal = true});
  EXPECT_EQ(shown.status, 0);
  EXPECT_NE(shown.err.find("\rmi:  50%"), std::string::npos) << shown.err;
  EXPECT_NE(shown.err.find("\rmi: 100%"), std::string::npos) << shown.err;
  EXPECT_TRUE(shown.out.starts_with("I(x;y)")) << shown.out;
}

TEST_F(Outputs, ManyThreadsAreWithinReason) {
  const Arguments arguments = {"mi", path("data.csv"), "--x", "x", "--y", "y", "--json"};
  const json few = json::parse(run_program(arguments).out);
  ASSERT_EQ(::setenv("OMP_NUM_THREADS", "100000", 1), 0);
  const Outcome many = run_program(arguments), info = run_program({"info", "--json"});
  ASSERT_EQ(::unsetenv("OMP_NUM_THREADS"), 0);
  ASSERT_EQ(many.status, 0) << many.signal;
  EXPECT_EQ(json::parse(many.out)["nats"], few["nats"]);
  EXPECT_LT(json::parse(info.out)["threads"], 100000);
}

}  // namespace
}  // namespace cli_test
