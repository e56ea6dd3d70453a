// isentropic lengths: entropy against context length for every scale law.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/outputs.hpp"
#include "cli/tools/progress.hpp"
#include "experiments/lengths/experiment.hpp"
#include "experiments/lengths/present.hpp"

namespace isentropic::cli {
namespace {

struct LengthsArguments {
  std::string d = "64", seed = "1", positions = "none", strength;
  std::vector<std::string> laws;
  bool quick = false, thorough = false;
  Outputs outputs;
};

experiments::lengths::Options options_of(const LengthsArguments& arguments) {
  experiments::lengths::Options out;
  out.d = parse_integer("--d", arguments.d, 2, 1024);
  out.seed = parse_seed(arguments.seed);
  out.laws = arguments.laws;
  if (arguments.quick) out.effort = experiments::lengths::Effort::quick;
  if (arguments.thorough) out.effort = experiments::lengths::Effort::thorough;
  try {
    out.positions.kind = experiments::lengths::positions_named(arguments.positions);
    experiments::lengths::laws_of(out);
  } catch (const Error& error) {
    throw UsageError(std::string("--") + error.what());
  }
  out.positions.strength = experiments::lengths::usual_strength(out.positions.kind);
  if (!arguments.strength.empty()) {
    if (out.positions.kind == experiments::lengths::Positions::none)
      throw UsageError("--strength", arguments.strength, "--positions other than none as well");
    out.positions.strength = parse_number("--strength", arguments.strength, 0, 100);
  }
  return out;
}

void run(const LengthsArguments& arguments) {
  const experiments::lengths::Options options = options_of(arguments);
  arguments.outputs.check();
  fmt::print(stderr, "lengths: needs about {} MiB of memory for n up to {}\n",
             (experiments::lengths::memory_needed(options) >> 20) + 1,
             experiments::lengths::experiment_lengths(options.effort).back());
  const experiments::lengths::Results results = [&] {
    Progress line("lengths");
    return experiments::lengths::run_experiment(options, [&](double share) { line.show(share); });
  }();

  arguments.outputs.write(
      {[&] { return experiments::lengths::tables(results); }, [&] { return experiments::lengths::json(results); },
       [&] { return experiments::lengths::picture(results); }, [&] { return experiments::lengths::page(results); }});
}

}  // namespace

void add_lengths(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "lengths", "Entropy of attention against context length, n = 2^6 ... 2^17, for every scale law");
  const auto arguments = std::make_shared<LengthsArguments>();
  command->add_option("--d", arguments->d, "size of a head in the printed tables")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--positions", arguments->positions, "none, random, sinusoidal, rotary, alibi or relative")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--strength", arguments->strength,
                   "amplitude, slope or, for rotary, speed of the position code (1; alibi: 0.1)")
      ->type_name("X");
  command->add_option("--laws", arguments->laws, "names of laws, separated by commas (all)")
      ->type_name("NAME,...")
      ->delimiter(',');
  command->add_option("--seed", arguments->seed, "seed of the random numbers")->type_name("N")->capture_default_str();
  CLI::Option* quick = command->add_flag("--quick", arguments->quick, "lengths up to 2^12 and few draws: seconds");
  command->add_flag("--thorough", arguments->thorough, "four times the draws")->excludes(quick);
  arguments->outputs.offer_json(command);
  arguments->outputs.offer_svg(command, "draw the curves");
  arguments->outputs.offer_html(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
