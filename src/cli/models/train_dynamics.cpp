// isentropic train dynamics: the entropy of attention while small language models learn.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/models/commands.hpp"
#include "cli/models/study_arguments.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/terminal.hpp"
#include "lab/dynamics/sections.hpp"
#include "lab/dynamics/study.hpp"

namespace isentropic::cli {
namespace {

namespace dynamics = lab::dynamics;

struct DynamicsArguments {
  StudyArguments common{.study = "dynamics"};
  dynamics::Study study;
};

dynamics::Study asked(DynamicsArguments& arguments) {
  dynamics::Study& study = arguments.study;
  study.seed = arguments.common.seed;
  study.device = arguments.common.device;
  if (!arguments.common.resume && study.texts.empty()) throw UsageError("texts", "none", "one file or more");
  try {
    check_study(study);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return with_texts(study);
}

void run(DynamicsArguments& arguments) {
  lab::StudyFolder folder = arguments.common.open(dynamics::options_of(asked(arguments)));
  const dynamics::Study study = dynamics::study_of(folder.options());
  run_study(arguments.common, [&](const lab::StudyCallbacks& callbacks) {
    const auto courses = dynamics::run_study(folder, callbacks);
    if (!courses) return false;
    const std::vector<dynamics::Section> sections = sections_of(study, *courses);
    folder.write_results(results_of(study, *courses, sections));
    folder.write("page.html", page_of(study, sections));
    for (const dynamics::Section& section : sections) folder.write(section.name + ".svg", picture_of(section));
    print(text_of(sections));
    return true;
  });
}

void offer_sizes(CLI::App* command, dynamics::Study& study) {
  const CLI::Range counts(1, 1 << 30);
  command->add_option("--seeds", study.seeds, "starts of each setting")->capture_default_str()->check(counts);
  command->add_option("--steps", study.steps)->capture_default_str()->check(counts);
  command->add_option("--batch", study.batch, "texts of a step")->capture_default_str()->check(counts);
  command->add_option("--length", study.length, "tokens of a text")->capture_default_str();
  command->add_option("--layers", study.layers)->capture_default_str()->check(CLI::Range(1, 1024));
  command->add_option("--heads", study.heads)->capture_default_str()->check(CLI::Range(1, 1024));
  command->add_option("--width", study.width)->capture_default_str()->check(CLI::Range(1, 1 << 16));
  command->add_option("--vocabulary", study.vocabulary, "of the tokenizer that is trained")->capture_default_str();
  command->add_option("--rate", study.rate, "largest learning rate")
      ->capture_default_str()
      ->check(CLI::Range(1e-12, 1e12));
  command->add_option("--weight-decay", study.weight_decay)->capture_default_str()->check(CLI::Range(0.0, 1e3));
  command->add_option("--held-out", study.held_out, "the part of each text, at its end")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 0.5));
  command->add_option("--points", study.points, "measurements of a run")->capture_default_str()->check(counts);
  command->add_option("--validation-tokens", study.validation_tokens, "at most")->capture_default_str()->check(counts);
  command->add_flag("--bfloat16", study.bfloat16, "products in bfloat16, on CUDA");
}

void offer_parts(CLI::App* command, dynamics::Study& study) {
  const auto list = [&](const char* name, auto& values, const char* help) {
    command->add_option(name, values, help)->delimiter(',')->capture_default_str();
  };
  list("--parts", study.parts, "entropy, spread, regulariser, target");
  list("--gains", study.gains, "spread: factors of the first query and key weights");
  list("--entropy-weights", study.entropy_weights, "regulariser: of the mean H / log k in the loss, with both signs");
  list("--label-smoothing", study.label_smoothings, "regulariser: the part of a label that is spread");
  command->add_option("--score-noise", study.score_noise, "regulariser: deviation of the noise on scores")
      ->capture_default_str();
  command->add_option("--token-noise", study.token_noise, "regulariser: share of tokens that are replaced")
      ->capture_default_str();
  list("--targets", study.targets, "target: entropies H*, nats");
  list("--other-lengths", study.other_lengths, "target: lengths beside --length");
  command->add_option("--target-steps", study.target_steps, "target: steps of each run")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
}

}  // namespace

void add_train_dynamics(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "dynamics", "Train small language models; follow, regularise and hold the entropy of their attention.");
  auto arguments = std::make_shared<DynamicsArguments>();
  command->add_option("texts", arguments->study.texts,
                      "files of text, UTF-8: all parts use the first, each of the others is a task of target");
  offer_parts(command, arguments->study);
  offer_sizes(command, arguments->study);
  arguments->common.offer(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
