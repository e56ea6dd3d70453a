// The subcommands. Each adds itself to the program and runs when it was named; it throws Error when it fails and
// UsageError when it was asked wrongly.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "isentropic/error.hpp"

namespace isentropic::cli {

// Exit status 2 instead of 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

void add_lengths(CLI::App& program);
void add_noise(CLI::App& program);
void add_verify(CLI::App& program);
void add_mi(CLI::App& program);
void add_sparsity(CLI::App& program);
void add_bench(CLI::App& program);
void add_ib(CLI::App& program);
void add_info(CLI::App& program);

// Numbers of the command line, whole texts only; UsageError names the argument, the text and the range.
std::int64_t parse_integer(const std::string& argument, const std::string& text, std::int64_t low, std::int64_t high);
double parse_number(const std::string& argument, const std::string& text, double low, double high);
std::uint64_t parse_seed(const std::string& text);  // of --seed

}  // namespace isentropic::cli
