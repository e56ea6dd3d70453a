// The subcommands. Each adds itself to the program and runs if it was named; it throws Error if it fails and UsageError
// if its arguments are wrong.
#pragma once

#include <CLI/CLI.hpp>

namespace isentropic::cli {

void add_lengths(CLI::App& program);
void add_noise(CLI::App& program);
void add_mi(CLI::App& program);
void add_sparsity(CLI::App& program);
void add_bench(CLI::App& program);
void add_ib(CLI::App& program);
void add_info(CLI::App& program);
// The commands of the separate program isentropic-torch: scan, train, ...
void add_model_commands(CLI::App& program);

}  // namespace isentropic::cli
