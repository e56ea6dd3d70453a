// isentropic train length: language models trained at one length under every scale law, and evaluated at longer ones.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/models/commands.hpp"
#include "cli/models/study_arguments.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/terminal.hpp"
#include "lab/length/documents.hpp"
#include "lab/length/study.hpp"

namespace isentropic::cli {
namespace {

struct LengthArguments {
  StudyArguments common{.study = "length", .lines = lab::LogLines::parts};
  lab::length::Study study;
  bool prepare_only = false;
};

// Texts are read before the folder is created: insufficient texts then neither leave a folder that blocks the next
// attempt nor replace a study by one that cannot be run.
lab::StudyFolder open(const LengthArguments& arguments, const lab::StudyCallbacks& callbacks) {
  const auto options = lab::length::options_of(arguments.study);
  if (arguments.common.resume) return arguments.common.open(options);
  const auto documents = lab::length::read_documents(arguments.study, callbacks.say);
  lab::StudyFolder out = arguments.common.open(options);
  lab::length::save_documents(out.path(), documents);
  return out;
}

void run(LengthArguments& arguments) {
  lab::length::Study& requested = arguments.study;
  requested.seed = arguments.common.seed;
  requested.device = arguments.common.device;
  if (!arguments.common.resume && requested.texts.empty())
    throw UsageError("texts", "none", "files or folders of text");
  try {
    lab::length::check_study(requested);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  arguments.common.require_place();
  run_study(arguments.common, [&](const lab::StudyCallbacks& callbacks) {
    lab::StudyFolder folder = open(arguments, callbacks);
    if (arguments.prepare_only) return true;
    lab::length::Study study = lab::length::study_of(folder.options());
    if (requested.bfloat16) study.bfloat16 = true;  // a study may be prepared on one machine and trained on another
    const auto results = lab::length::run_study(folder, study, callbacks);
    if (!results) return false;
    folder.write_results(lab::length::results_of(lab::length::study_of(folder.options()), *results));
    folder.write("page.html", lab::length::page(study, *results));
    folder.write("length.svg", lab::length::picture(study, *results));
    print(lab::length::text_table(study, *results));
    return true;
  });
}

void offer_networks(CLI::App* command, lab::length::Study& study) {
  command->add_option("--vocabulary", study.vocabulary, "vocabulary size of the tokenizer trained on the texts")
      ->capture_default_str()
      ->check(CLI::Range(258, 1 << 16));
  add_count(command, "--layers", study.layers, "number of layers");
  add_count(command, "--heads", study.heads, "attention heads per layer");
  add_count(command, "--width", study.width, "model width");
  command->add_option("--steps", study.steps, "optimiser steps")->capture_default_str()->check(CLI::Range(20, 1 << 30));
  add_count(command, "--batch", study.batch, "sequences per step");
  command->add_option("--length", study.length, "training length in tokens")
      ->capture_default_str()
      ->check(CLI::Range(4, 1 << 20));
  command
      ->add_option("--learning-rates", study.learning_rates,
                   "learning rates to screen; each law keeps its best one at the training length")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--weight-decay", study.weight_decay, "AdamW weight decay")->capture_default_str();
  command->add_option("--attention-dropout", study.attention_dropout, "dropout of attention weights")
      ->capture_default_str()
      ->check(numbers(0.0, 0.99));
  command->add_flag("--bfloat16", study.bfloat16, "compute matrix products in bfloat16 (CUDA only)");
}

}  // namespace

void add_train_length(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "length",
      "Train language models at one length under every scale law and evaluate them at up to 16 times that length");
  auto arguments = std::make_shared<LengthArguments>();
  arguments->common.may_change.insert({"--bfloat16", "--prepare-only"});
  lab::length::Study& study = arguments->study;
  command->add_option("texts", study.texts, "text files, or folders whose files are the documents");
  command->add_option("--laws", study.laws, "scale laws, as in docs/length.md (default: all)")->delimiter(',');
  command->add_option("--positions", study.positions, "position encodings: none, rotary")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--seeds", study.seeds, "seeds per confirmed law")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--best", study.best, "number of best laws to confirm besides 1/sqrt d and log n/d")
      ->capture_default_str()
      ->check(CLI::Range(0, 100));
  command->add_option("--factors", study.factors, "evaluation lengths, as multiples of the training length")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--scored", study.scored, "number of tokens scored, at the end of each document")
      ->capture_default_str();
  command->add_option("--documents", study.documents, "test documents, and as many again to tune the learning rate on")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--training-tokens", study.training_tokens, "maximum number of training tokens to read")
      ->capture_default_str();
  command->add_option("--max-epochs", study.max_epochs, "refuse to train for more epochs than this")
      ->capture_default_str();
  command->add_option("--target-entropy", study.target_entropy, "entropy of the law target_entropy, nats")
      ->capture_default_str();
  command->add_option("--attention-dropout-sweep", study.attention_dropout_sweep, "values to try in the last stage")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--weight-decay-sweep", study.weight_decay_sweep, "values to try in the last stage")
      ->delimiter(',')
      ->capture_default_str();
  command->add_flag("--prepare-only", arguments->prepare_only,
                    "tokenize the documents and stop; --resume trains, on any machine");
  offer_networks(command, study);
  arguments->common.offer(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
