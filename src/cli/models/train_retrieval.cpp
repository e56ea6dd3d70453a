// isentropic train retrieval: networks trained on short inputs and asked on long ones.
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
      "retrieval", "Train networks to find one token, at short lengths; test scales and maps at long ones.");
  auto arguments = std::make_shared<RetrievalArguments>();
  lab::retrieval::Study& study = arguments->study;
  command->add_option("--task", study.task, "first, maximum, needle or recall")->capture_default_str();
  command->add_option("--scales", study.scales, "laws of isentropic info, under softmax")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--learnt-scales", study.learnt_scales, "laws whose numbers are learnt, for each head")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--maps", study.maps, "score maps of isentropic info beside softmax; none: none")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--learnt-maps", study.learnt_maps, "entmax, whose alpha is learnt, for each head")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--without-key-bias", study.without_key_bias, "score maps to train without a bias of keys, too")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--feature-sizes", study.feature_sizes, "width of phi in a head, of linear maps")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--factors", study.factors, "lengths of the tests, times that of training")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--length", study.length, "longest input of training")->capture_default_str();
  const CLI::Range counts(1, 1 << 30);
  command->add_option("--seeds", study.seeds, "starts of each variant")->capture_default_str()->check(counts);
  command->add_option("--steps", study.steps)->capture_default_str()->check(counts);
  command->add_option("--batch", study.batch)->capture_default_str()->check(counts);
  command->add_option("--examples", study.examples, "inputs of a test")->capture_default_str()->check(counts);
  command->add_option("--width", study.width)->capture_default_str()->check(counts);
  command->add_option("--heads", study.heads)->capture_default_str()->check(counts);
  command->add_option("--rate", study.rate, "largest learning rate")
      ->capture_default_str()
      ->check(CLI::Range(1e-12, 1e12));
  arguments->common.offer(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
