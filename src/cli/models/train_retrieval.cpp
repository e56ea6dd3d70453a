// isentropic train retrieval: networks trained on short inputs and evaluated on long ones.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/models/commands.hpp"
#include "cli/models/study_arguments.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/terminal.hpp"
#include "lab/retrieval/study.hpp"
#include "lab/words.hpp"

namespace isentropic::cli {
namespace {

struct RetrievalArguments {
  StudyArguments common{.study = "retrieval"};
  lab::retrieval::Study study;
};

void run(RetrievalArguments& arguments) {
  arguments.study.seed = arguments.common.seed;
  arguments.study.device = arguments.common.device;
  for (auto* list : {&arguments.study.scales, &arguments.study.learnt_scales, &arguments.study.maps,
                     &arguments.study.learnt_maps, &arguments.study.without_key_bias})
    *list = lab::joined_words(*list);
  try {
    lab::retrieval::check_study(arguments.study);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  lab::StudyFolder folder = arguments.common.open(lab::retrieval::options_of(arguments.study));
  const lab::retrieval::Study study = lab::retrieval::study_of(folder.options());
  run_study(arguments.common, [&](const lab::StudyCallbacks& callbacks) {
    const auto curves = lab::retrieval::run_study(folder, callbacks);
    if (!curves) return false;
    folder.write_results(lab::retrieval::results_of(study, *curves));
    folder.write("page.html", lab::retrieval::page(study, *curves));
    folder.write("retrieval.svg", lab::retrieval::picture(study, *curves));
    print(lab::retrieval::text_table(study, *curves));
    return true;
  });
}

}  // namespace

void add_train_retrieval(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "retrieval", "Train networks to find one token in short inputs; evaluate scale laws and score maps on long ones");
  auto arguments = std::make_shared<RetrievalArguments>();
  lab::retrieval::Study& study = arguments->study;
  command->add_option("--task", study.task, "task: first, maximum, needle or recall")->capture_default_str();
  command->add_option("--scales", study.scales, "scale laws, under softmax (isentropic info lists them)")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--learnt-scales", study.learnt_scales, "scale laws whose parameters are learnt, one per head")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--maps", study.maps, "score maps besides softmax, or none (isentropic info lists them)")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--learnt-maps", study.learnt_maps, "entmax maps whose alpha is learnt, one per head")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--without-key-bias", study.without_key_bias, "score maps to train also without a key bias")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--feature-sizes", study.feature_sizes, "features per head of linear maps")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--factors", study.factors, "evaluation lengths, as multiples of the training length")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--length", study.length, "maximum training length")->capture_default_str();
  add_count(command, "--seeds", study.seeds, "networks per variant, each with its own seed");
  add_count(command, "--steps", study.steps, "optimiser steps");
  add_count(command, "--batch", study.batch, "examples per step");
  add_count(command, "--examples", study.examples, "examples per evaluation");
  add_count(command, "--width", study.width, "model width");
  add_count(command, "--heads", study.heads, "attention heads per layer");
  command->add_option("--learning-rate", study.learning_rate, "peak learning rate")
      ->capture_default_str()
      ->check(numbers(1e-12, 1e12));
  arguments->common.offer(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
