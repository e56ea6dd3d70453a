// isentropic train seq2seq: encoder-decoders that learn to reverse a sequence, and the entropy of their attention.
#include "cli/models/commands.hpp"
#include "cli/models/variant_arguments.hpp"
#include "lab/seq2seq/study.hpp"

namespace isentropic::cli {

void add_train_seq2seq(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "seq2seq", "Train encoder-decoders to reverse a sequence; follow self-attention and cross-attention");
  auto arguments = std::make_shared<VariantArguments<lab::seq2seq::Study>>();
  arguments->common.study = "seq2seq";
  lab::seq2seq::Study& study = arguments->study;
  add_count(command, "--length", study.length, "maximum training length");
  command->add_option("--lengths", study.lengths, "evaluation lengths")->delimiter(',')->capture_default_str();
  add_count(command, "--symbols", study.symbols, "number of distinct symbols");
  command->add_option("--positions-from", study.positions_from, "count source positions from the start or the end")
      ->capture_default_str();
  offer_variants(command, study.variants, arguments->common);
  command->callback([arguments] { run_variants(*arguments); });
}

}  // namespace isentropic::cli
