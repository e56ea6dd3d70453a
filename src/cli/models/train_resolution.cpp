// isentropic train resolution: image classifiers, evaluated at higher resolution than in training.
#include "cli/models/commands.hpp"
#include "cli/models/variant_arguments.hpp"
#include "lab/resolution/study.hpp"

namespace isentropic::cli {

void add_train_resolution(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "resolution", "Train vision transformers on images and evaluate scale laws at 2 and 4 times the resolution");
  auto arguments = std::make_shared<VariantArguments<lab::resolution::Study>>();
  arguments->common.study = "resolution";
  lab::resolution::Study& study = arguments->study;
  command->add_option("--data", study.data, "folder with {train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or .gz");
  add_count(command, "--patch", study.patch, "patch size in pixels");
  command->add_option("--factors", study.factors, "evaluation resolutions, as multiples of the training resolution")
      ->delimiter(',')
      ->capture_default_str();
  offer_variants(command, study.variants, arguments->common);
  command->callback([arguments] { run_variants(*arguments); });
}

}  // namespace isentropic::cli
