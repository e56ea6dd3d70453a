// Parses, runs, and reports errors.
#include "cli/tools/program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "cli/tools/arguments.hpp"
#include "cli/tools/terminal.hpp"

namespace isentropic::cli {
namespace {

constexpr int kFailed = 1, kUsage = 2;

int complain(const std::string& message, int status) {
  fmt::print(stderr, "isentropic: {}\n", printable_line(message));
  return status;
}

// Any earlier write to standard output may have failed.
int finished() { return standard_output_failed() ? complain("standard output could not be written", kFailed) : 0; }

// CLI11 throws --help and --version as errors.
int finished_with(const CLI::App& program, const CLI::ParseError& request) {
  std::ostringstream text, nothing;
  program.exit(request, text, nothing);
  print(text.str());
  return finished();
}

// "train vib " of "isentropic train vib --betas x".
std::string named_command(const CLI::App& program) {
  std::string out;
  for (std::vector<CLI::App*> named = program.get_subcommands(); !named.empty();
       named = named.front()->get_subcommands())
    out += named.front()->get_name() + " ";
  return out;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

int run_program(CLI::App& program, int argc, char** argv) {
  try {
    program.parse(argc, argv);
    if (program.get_subcommands().empty()) print(program.help());
    return finished();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return finished_with(program, error);
    return complain(fmt::format("{}; see isentropic {}--help", first_line(error.what()), named_command(program)),
                    kUsage);
  } catch (const UsageError& error) {
    return complain(error.what(), kUsage);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const Error& error) {
    return complain(error.what(), kFailed);
  } catch (const std::exception& error) {  // PyTorch's errors go on with a trace of its calls
    return complain(first_line(error.what()), kFailed);
  }
}

}  // namespace isentropic::cli
