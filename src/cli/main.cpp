// The program: finds the subcommand, and turns what goes wrong into one line and an exit status.
#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "isentropic/version.hpp"

namespace {

constexpr int kFailed = 1, kUsage = 2;

int complain(const std::string& message, int status) {
  fmt::print(stderr, "isentropic: {}\n", message.substr(0, message.find('\n')));
  return status;
}

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
    if (program.get_subcommands().empty()) fmt::print("{}", program.help());
    if (std::fflush(stdout) != 0) return complain("standard output could not be written", kFailed);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help and --version
    const std::vector<CLI::App*> named = program.get_subcommands();
    const std::string command = named.empty() ? "" : named.front()->get_name() + " ";
    return complain(fmt::format("{}; see isentropic {}--help", error.what(), command), kUsage);
  } catch (const isentropic::cli::UsageError& error) {
    return complain(error.what(), kUsage);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::exception& error) {
    return complain(error.what(), kFailed);
  }
}
