// isentropic train grounding: text that looks at an image, and the entropy of cross-modal attention.
#include "cli/models/commands.hpp"
#include "cli/models/variant_arguments.hpp"
#include "lab/grounding/study.hpp"

namespace isentropic::cli {

void add_train_grounding(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "grounding", "Train networks on images and text; watch cross-modal attention find the patches a text names.");
  auto arguments = std::make_shared<VariantArguments<lab::grounding::Study>>();
  arguments->common.study = "grounding";
  lab::grounding::Study& study = arguments->study;
  add_count(command, "--side", study.side, "patches on a side of an image, in training");
  add_count(command, "--most-matching", study.most_matching, "patches that match a text in training, 1 to so many");
  command->add_option("--matching", study.matching, "patches that match, in tests at that side")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--sides", study.sides, "of images in tests with --matching-of-sides patches that match")
      ->delimiter(',')
      ->capture_default_str();
  add_count(command, "--matching-of-sides", study.matching_of_sides, "patches that match in tests at other sides");
  offer_variants(command, study.variants, arguments->common);
  command->callback([arguments] { run_variants(*arguments); });
}

}  // namespace isentropic::cli
