// The program isentropic-torch: the commands that run networks. The program isentropic starts it.
#include "cli/ledger/verify.hpp"
#include "cli/models/commands.hpp"
#include "cli/tools/program.hpp"
#include "lab/ledger/network_checks.hpp"

int main(int argc, char** argv) {
  CLI::App program("Networks: scan, train, measure, generate.", "isentropic");
  program.require_subcommand(1, 1);
  isentropic::cli::add_scan(program);
  isentropic::cli::add_train(program);
  isentropic::cli::add_perplexity(program);
  isentropic::cli::add_generate(program);
  isentropic::cli::add_plane(program);
  isentropic::cli::add_verify(program, {.network_checks = isentropic::lab::network_checks()});
  return isentropic::cli::run_program(program, argc, argv);
}
