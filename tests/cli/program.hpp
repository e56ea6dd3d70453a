// Runs the built program as a user would: arguments in, exit status and both outputs back.
#pragma once

#include <string>
#include <vector>

namespace cli_test {

struct Outcome {
  int status = -1;  // exit status; -1 when a signal ended it
  int signal = 0;
  std::string out, err;
};

// `interrupt_after`: seconds after which SIGINT is sent, measured from its first byte on standard error; < 0: never.
Outcome run_program(const std::vector<std::string>& arguments, double interrupt_after = -1);

}  // namespace cli_test
