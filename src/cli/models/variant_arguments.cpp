// Adds the options of studies that compare scale laws over several seeds.
#include "cli/models/variant_arguments.hpp"

namespace isentropic::cli {

void offer_variants(CLI::App* command, lab::VariantOptions& options, StudyArguments& common) {
  command
      ->add_option("--scales", options.scales, "scale laws, each with networks of its own (isentropic info lists them)")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--learnt-scales", options.learnt_scales, "scale laws whose parameters are learnt, one per head")
      ->delimiter(',')
      ->capture_default_str();
  add_count(command, "--seeds", options.seeds, "networks per law, each with its own seed");
  add_count(command, "--steps", options.steps, "optimiser steps");
  add_count(command, "--batch", options.batch, "examples per step");
  add_count(command, "--measurements", options.measurements, "evaluations during training");
  add_count(command, "--examples", options.examples, "examples per evaluation");
  add_count(command, "--width", options.width, "model width");
  add_count(command, "--heads", options.heads, "attention heads per layer");
  add_count(command, "--layers", options.layers, "number of layers");
  command->add_option("--learning-rate", options.learning_rate, "peak learning rate")
      ->capture_default_str()
      ->check(numbers(1e-12, 1e12));
  common.offer(command);
}

}  // namespace isentropic::cli
