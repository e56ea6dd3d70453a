// isentropic plane: networks in the information plane while they train.
#include <memory>

#include "cli/models/commands.hpp"
#include "cli/models/study_arguments.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/outputs.hpp"
#include "lab/plane/study.hpp"
#include "model/names.hpp"
#include "plane/page.hpp"

namespace isentropic::cli {
namespace {

struct PlaneArguments {
  StudyArguments study{.study = "plane"};
  lab::PlaneOptions options;
  Outputs outputs;
};

// Checks the command line before anything is read.
void check(const PlaneArguments& arguments) {
  try {
    lab::check_plane_options(arguments.options);
    model::device_named("device", arguments.study.device);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  arguments.outputs.check({arguments.options.file});
}

void run_plane_command(PlaneArguments& arguments) {
  arguments.options.network.seed = arguments.study.seed;
  check(arguments);
  std::optional<lab::StudyFolder> folder;
  if (arguments.study.resume) {
    folder.emplace(arguments.study.open({}));
    arguments.options = lab::plane_options_from(folder->options());
  }
  const lab::PlaneTask task = lab::plane_task(arguments.options.file);
  if (!folder) folder.emplace(arguments.study.open(lab::plane_study_options(arguments.options, task)));
  lab::PlaneResult result;
  run_study(arguments.study, [&](const lab::StudyCallbacks& callbacks) {
    return lab::run_plane(*folder, task, arguments.study.device, callbacks, &result);
  });
  arguments.outputs.write({[&] { return plane::terminal_text(result.record); }, [&] { return result.json; }});
}

}  // namespace

void add_plane(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("plane", "Train small networks and follow their layers in the information plane");
  auto arguments = std::make_shared<PlaneArguments>();
  lab::PlaneOptions& options = arguments->options;
  lab::PlaneNetworkOptions& network = options.network;
  command->add_option("file", options.file,
                      ".mat file, or table whose last column is the label (default: the built-in 12-bit task)");
  arguments->study.offer(command);
  command->add_option("--network", network.network, "network: mlp or attention")->capture_default_str();
  command->add_option("--activation", network.activation, "activation: tanh, relu or linear")->capture_default_str();
  command->add_option("--layers", network.layers, "hidden layer sizes of an mlp")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 16));
  command->add_option("--blocks", network.blocks, "attention blocks")->capture_default_str()->check(CLI::Range(1, 16));
  command->add_option("--top-k", network.top_k, "attend to the k highest scores only (default: all)")
      ->check(CLI::Range(1, 1 << 16));
  command
      ->add_option("--noise", options.noise,
                   "standard deviation of noise added to every layer in training (default: none)")
      ->check(numbers(0.0, 1e6));
  command->add_option("--optimiser", options.optimiser, "optimiser: sgd or adam")->capture_default_str();
  command->add_option("--epochs", options.epochs, "training epochs")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24));
  command->add_option("--seeds", network.seeds, "networks trained side by side, each with its own seed")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--estimators", options.estimators, "estimators, such as exact,width:0.5,noise:0.1")
      ->delimiter(',');
  arguments->outputs.offer_json(command);
  arguments->study.may_change.insert("--json");
  command->callback([arguments] { run_plane_command(*arguments); });
}

}  // namespace isentropic::cli
