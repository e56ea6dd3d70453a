// isentropic train dynamics: the entropy of attention while small language models learn.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/models/commands.hpp"
#include "cli/models/study_arguments.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/terminal.hpp"
#include "lab/dynamics/material.hpp"
#include "lab/dynamics/sections.hpp"
#include "lab/dynamics/study.hpp"

namespace isentropic::cli {
namespace {

namespace dynamics = lab::dynamics;

struct DynamicsArguments {
  StudyArguments common{.study = "dynamics"};
  dynamics::Study study;
};

dynamics::Study requested(DynamicsArguments& arguments) {
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
  const dynamics::Study asked = requested(arguments);
  arguments.common.require_place();
  run_study(arguments.common, [&](const lab::StudyCallbacks& callbacks) {
    // A text that is too short must not leave a folder.
    std::optional<dynamics::Material> material;
    if (!arguments.common.resume) material = dynamics::read_material(asked, callbacks);
    lab::StudyFolder folder = arguments.common.open(dynamics::options_of(asked));
    const dynamics::Study study = dynamics::study_of(folder.options());
    const auto courses = dynamics::run_study(folder, std::move(material), callbacks);
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
  add_count(command, "--seeds", study.seeds, "runs per setting, each with its own seed");
  add_count(command, "--steps", study.steps, "optimiser steps");
  add_count(command, "--batch", study.batch, "sequences per step");
  command->add_option("--length", study.length, "tokens per sequence")->capture_default_str();
  command->add_option("--layers", study.layers, "number of layers")->capture_default_str()->check(CLI::Range(1, 1024));
  command->add_option("--heads", study.heads, "attention heads per layer")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--width", study.width, "model width")->capture_default_str()->check(CLI::Range(1, 1 << 16));
  command->add_option("--vocabulary", study.vocabulary, "vocabulary size of the tokenizer trained on the text")
      ->capture_default_str();
  command->add_option("--learning-rate", study.learning_rate, "peak learning rate")
      ->capture_default_str()
      ->check(numbers(1e-12, 1e12));
  command->add_option("--weight-decay", study.weight_decay, "AdamW weight decay")
      ->capture_default_str()
      ->check(numbers(0.0, 1e3));
  command->add_option("--held-out", study.held_out, "fraction held out at the end of each text")
      ->capture_default_str()
      ->check(numbers(0.001, 0.5));
  add_count(command, "--points", study.points, "evaluations per run");
  add_count(command, "--validation-tokens", study.validation_tokens, "maximum number of validation tokens");
  command->add_flag("--bfloat16", study.bfloat16, "compute matrix products in bfloat16 (CUDA only)");
}

void offer_parts(CLI::App* command, dynamics::Study& study) {
  const auto list = [&](const char* name, auto& values, const char* help) {
    command->add_option(name, values, help)->delimiter(',')->capture_default_str();
  };
  list("--parts", study.parts, "parts to run: entropy, spread, regulariser, target");
  list("--gains", study.gains, "spread: multipliers of the initial query and key weights");
  list("--entropy-weights", study.entropy_weights,
       "regulariser: weights of the mean H / log k in the loss, tried with both signs");
  list("--label-smoothing", study.label_smoothings, "regulariser: label smoothing");
  command
      ->add_option("--score-noise", study.score_noise, "regulariser: standard deviation of the noise added to scores")
      ->capture_default_str();
  command->add_option("--token-noise", study.token_noise, "regulariser: fraction of tokens replaced at random")
      ->capture_default_str();
  list("--targets", study.targets, "target: target entropies H*, nats");
  list("--other-lengths", study.other_lengths, "target: further sequence lengths");
  command->add_option("--target-steps", study.target_steps, "target: optimiser steps per run")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
}

}  // namespace

void add_train_dynamics(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "dynamics", "Train small language models and follow, regularise and fix the entropy of their attention");
  auto arguments = std::make_shared<DynamicsArguments>();
  command->add_option(
      "texts", arguments->study.texts,
      "text files, UTF-8; every part uses the first, and each further text is one more task of the part target");
  offer_parts(command, arguments->study);
  offer_sizes(command, arguments->study);
  arguments->common.offer(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
