// Runs the built program as a user would: arguments in, exit status and both outputs back.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace cli_test {

struct Outcome {
  int status = -1;  // exit status; -1 when a signal ended it
  int signal = 0;
  std::string out, err;
};

struct Surroundings {
  double interrupt_after = -1;       // seconds from its first byte on standard error to SIGINT; < 0: never
  std::string standard_output = {};  // a file or device that receives it, instead of the outcome
  bool terminal = false;             // whether standard error is one
};

Outcome run_program(const std::vector<std::string>& arguments, const Surroundings& around = {});

// Expects no output, and one line on standard error that starts with the program's name and contains `part`.
void expect_one_line_error(const Outcome& outcome, int status, const std::string& part);

// The whole content of a file.
std::string text_of(const std::string& path);

// Gives each test a folder of its own, removed afterwards.
class Program : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::ptrdiff_t files() const;

  std::filesystem::path folder_;
};

}  // namespace cli_test
