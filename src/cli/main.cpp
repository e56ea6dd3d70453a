// The main program: its own subcommands, and those of isentropic-torch.
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/ledger/verify.hpp"
#include "cli/model_program.hpp"
#include "cli/tools/program.hpp"
#include "isentropic/version.hpp"

namespace {

// Claims about trained transformers are checked by the program that can train them, if it was built.
void hand_verify_over(const std::vector<std::string>& arguments) {
  if (isentropic::cli::has_model_program()) isentropic::cli::start_model_program("verify", arguments);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("Exact attention that measures itself.", "isentropic");
  program.set_version_flag("--version", "isentropic " ISENTROPIC_VERSION, "print the version");
  program.require_subcommand(0, 1);
  isentropic::cli::add_lengths(program);
  isentropic::cli::add_noise(program);
  isentropic::cli::add_verify(program, {.hand_over = [&] { hand_verify_over({argv + 2, argv + argc}); }});
  isentropic::cli::add_mi(program);
  isentropic::cli::add_sparsity(program);
  isentropic::cli::add_bench(program);
  isentropic::cli::add_ib(program);
  isentropic::cli::add_model_commands(program);
  isentropic::cli::add_info(program);
  return isentropic::cli::run_program(program, argc, argv);
}
