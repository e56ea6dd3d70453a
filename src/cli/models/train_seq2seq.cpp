// isentropic train seq2seq: an encoder and a decoder that learn to reverse, and the entropy of their attention.
#include "cli/models/commands.hpp"
#include "cli/models/variant_arguments.hpp"
#include "lab/seq2seq/study.hpp"

namespace isentropic::cli {

void add_train_seq2seq(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "seq2seq", "Train encoder-decoders to reverse a sequence; watch self-attention and cross-attention.");
  auto arguments = std::make_shared<VariantArguments<lab::seq2seq::Study>>();
  arguments->common.study = "seq2seq";
  lab::seq2seq::Study& study = arguments->study;
  add_count(command, "--length", study.length, "longest sequence of training");
  command->add_option("--lengths", study.lengths, "of the tests")->delimiter(',')->capture_default_str();
  add_count(command, "--symbols", study.symbols, "kinds of symbols");
  command->add_option("--places", study.places, "of the source: counted from its start or its end")
      ->capture_default_str();
  offer_variants(command, study.variants, arguments->common);
  command->callback([arguments] { run_variants(*arguments); });
}

}  // namespace isentropic::cli
