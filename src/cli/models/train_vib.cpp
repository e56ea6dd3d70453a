// isentropic train vib: how a penalty on I(Z;X) affects a network's errors and I(Z;Y).
#include <memory>

#include "cli/models/commands.hpp"
#include "cli/models/study_arguments.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/terminal.hpp"
#include "lab/vib/study.hpp"
#include "model/names.hpp"

namespace isentropic::cli {
namespace {

namespace vib = lab::vib;

struct VibArguments {
  StudyArguments study;
  vib::Options options;
  std::vector<std::string> betas;
  std::int64_t epochs = 0;  // 0: the problem's default
  bool gaussian = false;
};

// The betas of the command line, or the problem's defaults.
std::vector<double> betas_of(const VibArguments& arguments) {
  std::vector<double> out;
  for (const std::string& text : arguments.betas) {
    out.push_back(parse_number("--betas", text, 0, 1e6));
    if (out.size() > 1 && out.back() <= out[out.size() - 2]) throw UsageError("--betas", text, "increasing numbers");
  }
  if (!out.empty()) return out;
  if (arguments.gaussian) return {0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85};
  return {0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
}

vib::Options new_options(const VibArguments& arguments) {
  if (arguments.gaussian == !arguments.options.data.empty())
    throw UsageError("--data", arguments.gaussian ? "given with --gaussian" : "not given",
                     "a folder of IDX files, or --gaussian in its place");
  vib::Options out = arguments.options;
  out.betas = betas_of(arguments);
  out.epochs = arguments.epochs != 0 ? arguments.epochs : arguments.gaussian ? 20 : 200;
  out.seed = arguments.study.seed;
  out.device = arguments.study.device;
  try {
    model::device_named("--device", out.device);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return out;
}

bool shown(const std::optional<vib::Results>& results) {
  if (results) print(vib::text_table(*results));
  return results.has_value();
}

void run(const VibArguments& arguments) {
  run_study(arguments.study, [&](const lab::StudyCallbacks& callbacks) {
    if (arguments.study.resume) {
      lab::StudyFolder folder = arguments.study.open({});
      const vib::Options options = vib::options_of(folder.options());
      return shown(vib::ended(folder, options)) ||
             shown(vib::run(folder, options, vib::problem_of(options), callbacks));
    }
    const vib::Options options = new_options(arguments);
    const vib::Problem problem = vib::problem_of(options);  // read first: a failure leaves no folder behind
    lab::StudyFolder folder = arguments.study.open(vib::to_json(options, problem));
    return shown(vib::run(folder, options, problem, callbacks));
  });
}

}  // namespace

void add_train_vib(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "vib", "Train variational information bottlenecks for a sweep of beta and measure error and information");
  auto arguments = std::make_shared<VibArguments>();
  arguments->study.study = "vib";
  command->add_option("--data", arguments->options.data,
                      "folder with {train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or .gz");
  command->add_flag("--gaussian", arguments->gaussian, "use Gaussian data, for which the optimal codes are known");
  command
      ->add_option("--betas", arguments->betas,
                   "values of beta, increasing (default: 0,1e-5,1e-4,...,1e-1; with --gaussian 0.05 to 0.85)")
      ->type_name("X,...")
      ->delimiter(',');
  command->add_option("--seeds", arguments->options.seeds, "networks per beta, each with its own seed")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, vib::kMostSeeds));
  command->add_option("--epochs", arguments->epochs, "training epochs (default: 200; with --gaussian 20)")
      ->check(CLI::Range(std::int64_t{1}, vib::kMostEpochs));
  command->add_option("--batch", arguments->options.batch, "examples per step")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  arguments->study.offer(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
