// Runs a program of subcommands, and turns what goes wrong into one line and an exit status.
#pragma once

#include <CLI/CLI.hpp>

namespace isentropic::cli {

// 0: done. 1: failed. 2: asked wrongly. Messages go to standard error, in one line that begins with "isentropic: ".
int run_program(CLI::App& program, int argc, char** argv);

}  // namespace isentropic::cli
