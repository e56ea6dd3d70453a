// isentropic train length: language models trained at one length, under every scale law, and asked at longer ones.
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
  bool only_prepare = false;
};

// Texts are read before there is a folder: those that are not enough leave none in the way of the next try, nor replace
// a study by one that cannot be run.
lab::StudyFolder open(const LengthArguments& arguments, const lab::StudyCallbacks& callbacks) {
  const auto options = lab::length::options_of(arguments.study);
  if (arguments.common.resume) return arguments.common.open(options);
  const auto documents = lab::length::read_documents(arguments.study, callbacks.say);
  lab::StudyFolder out = arguments.common.open(options);
  lab::length::save_documents(out.path(), documents);
  return out;
}

void run(LengthArguments& arguments) {
  lab::length::Study& asked = arguments.study;
  asked.seed = arguments.common.seed;
  asked.device = arguments.common.device;
  if (!arguments.common.resume && asked.texts.empty()) throw UsageError("texts", "none", "files or folders of text");
  try {
    lab::length::check_study(asked);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  arguments.common.require_place();
  run_study(arguments.common, [&](const lab::StudyCallbacks& callbacks) {
    lab::StudyFolder folder = open(arguments, callbacks);
    if (arguments.only_prepare) return true;
    lab::length::Study study = lab::length::study_of(folder.options());
    if (asked.bfloat16) study.bfloat16 = true;  // what was prepared on one machine is trained on another
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
  const CLI::Range counts(1, 1 << 30);
  command->add_option("--vocabulary", study.vocabulary)->capture_default_str()->check(CLI::Range(258, 1 << 16));
  command->add_option("--layers", study.layers)->capture_default_str()->check(counts);
  command->add_option("--heads", study.heads)->capture_default_str()->check(counts);
  command->add_option("--width", study.width)->capture_default_str()->check(counts);
  command->add_option("--steps", study.steps)->capture_default_str()->check(CLI::Range(20, 1 << 30));
  command->add_option("--batch", study.batch)->capture_default_str()->check(counts);
  command->add_option("--length", study.length, "tokens of training")
      ->capture_default_str()
      ->check(CLI::Range(4, 1 << 20));
  command->add_option("--rates", study.rates, "learning rates, of which each law keeps the best at that length")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--weight-decay", study.weight_decay)->capture_default_str();
  command->add_option("--attention-dropout", study.attention_dropout)
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.99));
  command->add_flag("--bfloat16", study.bfloat16, "products in bfloat16, on CUDA");
}

}  // namespace

void add_train_length(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "length", "Train language models at one length under every scale law; test them at up to 16 times as much.");
  auto arguments = std::make_shared<LengthArguments>();
  arguments->common.may_change.insert({"--bfloat16", "--only-prepare"});
  lab::length::Study& study = arguments->study;
  command->add_option("texts", study.texts, "files, or folders whose files are documents");
  command->add_option("--laws", study.laws, "of docs/length.md (all)")->delimiter(',');
  command->add_option("--positions", study.positions, "none, rotary")->delimiter(',')->capture_default_str();
  command->add_option("--seeds", study.seeds, "of the laws that are confirmed")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--best", study.best, "laws to confirm beside 1/sqrt d and log n/d")
      ->capture_default_str()
      ->check(CLI::Range(0, 100));
  command->add_option("--factors", study.factors, "lengths of the tests, times that of training")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--scored", study.scored, "last tokens that count")->capture_default_str();
  command->add_option("--documents", study.documents, "to test with, and as many to tune with")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--training-tokens", study.training_tokens, "that are read at most")->capture_default_str();
  command->add_option("--most-epochs", study.most_epochs)->capture_default_str();
  command->add_option("--target-entropy", study.target_entropy, "nats, of the law that solves for it")
      ->capture_default_str();
  command->add_option("--dropouts", study.dropouts, "of the last stage")->delimiter(',')->capture_default_str();
  command->add_option("--decays", study.decays, "of the last stage")->delimiter(',')->capture_default_str();
  command->add_flag("--only-prepare", arguments->only_prepare,
                    "write the documents and end; --resume trains, anywhere");
  offer_networks(command, study);
  arguments->common.offer(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
