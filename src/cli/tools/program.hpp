// Runs a program of subcommands, and turns failures into a one-line message and an exit status.
#pragma once

#include <CLI/CLI.hpp>

namespace isentropic::cli {

// 0: success. 1: failure. 2: usage error. Messages go to standard error, on one line starting with "isentropic: ".
int run_program(CLI::App& program, int argc, char** argv);

}  // namespace isentropic::cli
