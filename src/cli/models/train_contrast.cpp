// isentropic train contrast: how much information InfoNCE detects, and how the temperature arranges embeddings.
#include <memory>

#include "cli/models/commands.hpp"
#include "cli/models/study_arguments.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/terminal.hpp"
#include "lab/contrast/study.hpp"

namespace isentropic::cli {
namespace {

namespace contrast = lab::contrast;

struct ContrastArguments {
  StudyArguments study{.study = "contrast"};
  contrast::Options options;
};

void study_contrast(ContrastArguments& arguments) {
  arguments.options.seed = arguments.study.seed;
  arguments.options.device = arguments.study.device;
  try {
    contrast::check(arguments.options);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  lab::StudyFolder folder = arguments.study.open(contrast::json(arguments.options));
  run_study(arguments.study, [&](const lab::StudyCallbacks& callbacks) {
    const auto results = contrast::run(folder, callbacks);
    if (results) print(contrast::tables(contrast::options_from(folder.options()), *results));
    return results.has_value();
  });
}

}  // namespace

void add_train_contrast(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "contrast",
      "Train contrastive critics: the InfoNCE bound against the true information, embeddings by temperature");
  auto arguments = std::make_shared<ContrastArguments>();
  contrast::Options& options = arguments->options;
  arguments->study.offer(command);
  command->add_option("--critic", options.critics, "critics: shared, two-tower, cosine")
      ->capture_default_str()
      ->delimiter(',');
  command->add_option("--batch", options.batches, "batch sizes, one run each")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::Range(2, 1 << 16));
  command->add_option("--information", options.information, "true mutual information of each stage, nats")
      ->capture_default_str()
      ->delimiter(',')
      ->check(numbers(0.0, 1e3));
  command->add_option("--dimension", options.dimension, "dimension of X and of Y")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 12));
  command->add_option("--steps", options.steps, "optimiser steps per run")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("--temperatures", options.temperatures, "temperatures of the embedding experiment")
      ->capture_default_str()
      ->delimiter(',')
      ->check(numbers(1e-3, 1e3));
  command->add_option("--view-steps", options.view_steps, "optimiser steps per temperature")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
  command->callback([arguments] { study_contrast(*arguments); });
}

}  // namespace isentropic::cli
