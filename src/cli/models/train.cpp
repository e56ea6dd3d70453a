// isentropic train: one subcommand for each kind of network.
#include "cli/models/commands.hpp"

namespace isentropic::cli {

void add_train(CLI::App& program) {
  CLI::App* train = program.add_subcommand("train", "Train a network");
  train->require_subcommand(1, 1);
  add_train_lm(*train);
  add_train_length(*train);
  add_train_retrieval(*train);
  add_train_vib(*train);
  add_train_contrast(*train);
  add_train_dynamics(*train);
  add_train_seq2seq(*train);
  add_train_grounding(*train);
  add_train_resolution(*train);
}

}  // namespace isentropic::cli
