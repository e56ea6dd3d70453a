// Offers what studies of several scale laws and seeds are asked.
#include "cli/models/variant_arguments.hpp"

namespace isentropic::cli {

CLI::Option* add_count(CLI::App* command, const std::string& name, std::int64_t& value, const std::string& help) {
  return command->add_option(name, value, help)->capture_default_str()->check(CLI::Range(1, 1 << 30));
}

void offer_variants(CLI::App* command, lab::VariantOptions& options, StudyArguments& common) {
  command->add_option("--scales", options.scales, "laws of isentropic info, each trained anew")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--learnt-scales", options.learnt_scales, "laws whose numbers are learnt, for each head")
      ->delimiter(',')
      ->capture_default_str();
  add_count(command, "--seeds", options.seeds, "networks of each law");
  add_count(command, "--steps", options.steps);
  add_count(command, "--batch", options.batch);
  add_count(command, "--measurements", options.measurements, "times to measure while a network learns");
  add_count(command, "--examples", options.examples, "inputs of a test");
  add_count(command, "--width", options.width);
  add_count(command, "--heads", options.heads);
  add_count(command, "--layers", options.layers);
  command->add_option("--rate", options.rate, "largest learning rate")
      ->capture_default_str()
      ->check(CLI::Range(1e-12, 1e12));
  common.offer(command);
}

}  // namespace isentropic::cli
