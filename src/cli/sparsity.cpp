// isentropic sparsity: how sparse attention can be under score maps, over features and with decay.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/outputs.hpp"
#include "cli/tools/progress.hpp"
#include "experiments/sparsity/present.hpp"

namespace isentropic::cli {
namespace {

struct SparsityArguments {
  std::string keys = "20000", seed = "1";
  Outputs outputs;
};

void run(const SparsityArguments& arguments) {
  experiments::sparsity::Options options;
  options.keys = parse_integer("--keys", arguments.keys, 100, 10000000);
  options.seed = parse_seed(arguments.seed);
  arguments.outputs.check();

  const experiments::sparsity::Results results = [&] {
    Progress line("sparsity");
    return experiments::sparsity::run_experiment(options, [&](double share) { line.show(share); });
  }();

  arguments.outputs.write(
      {[&] { return experiments::sparsity::tables(results); }, [&] { return experiments::sparsity::json(results); },
       [&] { return experiments::sparsity::picture(results); }, [&] { return experiments::sparsity::page(results); }});
}

}  // namespace

void add_sparsity(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "sparsity", "How sparse attention can be: S of relu^2, identity, exp, linear features and decay");
  const auto arguments = std::make_shared<SparsityArguments>();
  command->add_option("--keys", arguments->keys, "keys in each measured row")->type_name("N")->capture_default_str();
  command->add_option("--seed", arguments->seed, "seed of the random numbers")->type_name("N")->capture_default_str();
  arguments->outputs.offer_json(command);
  arguments->outputs.offer_svg(command, "draw the curves");
  arguments->outputs.offer_html(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
