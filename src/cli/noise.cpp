// isentropic noise: what noise and attacks on the scores do to attention.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/outputs.hpp"
#include "cli/tools/progress.hpp"
#include "experiments/noise/experiment.hpp"
#include "experiments/noise/present.hpp"

namespace isentropic::cli {
namespace {

struct NoiseArguments {
  std::string family, strength, draws = "2000", seed = "1";
  Outputs outputs;
};

experiments::noise::Case case_of(const NoiseArguments& arguments) {
  try {
    experiments::noise::Case out{experiments::noise::family_named(arguments.family), 0};
    out.strength = experiments::noise::standard_strength(out.family);
    if (!arguments.strength.empty()) out.strength = parse_number("--strength", arguments.strength, -1e6, 1e6);
    experiments::noise::require_meaning(out);
    return out;
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(std::string("--") + error.what());
  }
}

experiments::noise::Options options_of(const NoiseArguments& arguments) {
  experiments::noise::Options out;
  out.draws = parse_integer("--draws", arguments.draws, 10, 1'000'000);
  out.seed = parse_seed(arguments.seed);
  if (!arguments.family.empty())
    out.cases = {case_of(arguments)};
  else if (!arguments.strength.empty())
    throw UsageError("--strength", arguments.strength, "--family as well");
  return out;
}

void run(const NoiseArguments& arguments) {
  const experiments::noise::Options options = options_of(arguments);
  arguments.outputs.check();
  for (const experiments::noise::Case& chosen : options.cases)
    if (const std::string text = experiments::noise::caution(chosen); !text.empty())
      fmt::print(stderr, "noise: {}\n", text);

  const experiments::noise::Results results = [&] {
    Progress line("noise");
    return experiments::noise::run_experiment(options, [&](double share) { line.show(share); });
  }();

  arguments.outputs.write(
      {[&] { return experiments::noise::tables(results); }, [&] { return experiments::noise::json(results); },
       [&] { return experiments::noise::picture(results); }, [&] { return experiments::noise::page(results); }});
}

}  // namespace

void add_noise(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "noise", "What noise and attacks on the scores do to the output of attention, measured and predicted");
  const auto arguments = std::make_shared<NoiseArguments>();
  command->add_option("--family", arguments->family, "gaussian, uniform, laplace, gumbel, groups or values (all)")
      ->type_name("NAME");
  command
      ->add_option("--strength", arguments->strength,
                   "sigma, a, b, tau, keys in a group, or c (default: 1, 1, 0.3, 3, 16, 0.5)")
      ->type_name("X");
  command->add_option("--draws", arguments->draws, "draws of noise at each length")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "seed of the random numbers")->type_name("N")->capture_default_str();
  arguments->outputs.offer_json(command);
  arguments->outputs.offer_svg(command, "draw rms against n");
  arguments->outputs.offer_html(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
