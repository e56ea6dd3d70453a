// The program: finds the subcommand, and turns what goes wrong into one line and an exit status.
#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "isentropic/version.hpp"

namespace {

constexpr int kFailed = 1, kUsage = 2;

int complain(const std::string& message, int status) {
  fmt::print(stderr, "isentropic: {}\n", isentropic::cli::printable_line(message));
  return status;
}

// What was printed may have failed at any time before.
int finished() {
  return isentropic::cli::standard_output_failed() ? complain("standard output could not be written", kFailed) : 0;
}

// --help and --version arrive as errors.
int finished_with(const CLI::App& program, const CLI::ParseError& request) {
  std::ostringstream text, nothing;
  program.exit(request, text, nothing);
  isentropic::cli::print(text.str());
  return finished();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("Exact attention that measures itself.", "isentropic");
  program.set_version_flag("--version", "isentropic " ISENTROPIC_VERSION, "print the version");
  program.require_subcommand(0, 1);
  isentropic::cli::add_lengths(program);
  isentropic::cli::add_noise(program);
  isentropic::cli::add_verify(program);
  isentropic::cli::add_mi(program);
  isentropic::cli::add_sparsity(program);
  isentropic::cli::add_bench(program);
  isentropic::cli::add_ib(program);
  isentropic::cli::add_info(program);
  try {
    program.parse(argc, argv);
    if (program.get_subcommands().empty()) isentropic::cli::print(program.help());
    return finished();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return finished_with(program, error);
    const std::vector<CLI::App*> named = program.get_subcommands();
    const std::string command = named.empty() ? "" : named.front()->get_name() + " ";
    return complain(fmt::format("{}; see isentropic {}--help", first_line(error.what()), command), kUsage);
  } catch (const isentropic::cli::UsageError& error) {
    return complain(error.what(), kUsage);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::exception& error) {
    return complain(error.what(), kFailed);
  }
}
