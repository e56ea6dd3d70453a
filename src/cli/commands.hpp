// The subcommands. Each adds itself to the program and runs when it was named; it throws Error when it fails and
// UsageError when it was asked wrongly.
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
// Those of the program isentropic-torch beside this one: scan, train, ...
void add_model_commands(CLI::App& program);

}  // namespace isentropic::cli
