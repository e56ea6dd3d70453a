// isentropic train grounding: text that attends to an image, and the entropy of cross-modal attention.
#include "cli/models/commands.hpp"
#include "cli/models/variant_arguments.hpp"
#include "lab/grounding/study.hpp"

namespace isentropic::cli {

void add_train_grounding(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "grounding",
      "Train networks on images and text; follow cross-modal attention as it finds the patches a text names");
  auto arguments = std::make_shared<VariantArguments<lab::grounding::Study>>();
  arguments->common.study = "grounding";
  lab::grounding::Study& study = arguments->study;
  add_count(command, "--side", study.side, "patches along each side of a training image");
  add_count(command, "--max-matching", study.max_matching, "maximum number of matching patches in training");
  command->add_option("--matching", study.matching, "numbers of matching patches to evaluate, at that image size")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--sides", study.sides, "image sizes to evaluate, with --matching-of-sides matching patches")
      ->delimiter(',')
      ->capture_default_str();
  add_count(command, "--matching-of-sides", study.matching_of_sides,
            "matching patches when other image sizes are evaluated");
  offer_variants(command, study.variants, arguments->common);
  command->callback([arguments] { run_variants(*arguments); });
}

}  // namespace isentropic::cli
