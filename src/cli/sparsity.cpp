// isentropic sparsity: how sparse attention can be under three maps.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/outputs.hpp"
#include "cli/progress_line.hpp"
#include "sparsity/present.hpp"

namespace isentropic::cli {
namespace {

struct Arguments {
  std::string keys = "20000", seed = "1";
  Outputs outputs;
};

void run(const Arguments& arguments) {
  concentration::Options options;
  options.keys = parse_integer("--keys", arguments.keys, 100, 10000000);
  options.seed = parse_seed(arguments.seed);
  arguments.outputs.check();

  const concentration::Results results = [&] {
    ProgressLine line("sparsity");
    return concentration::run_experiment(options, [&](double share) { line.show(share); });
  }();

  arguments.outputs.write({[&] { return concentration::tables(results); }, [&] { return concentration::json(results); },
                           [&] { return concentration::picture(results); },
                           [&] { return concentration::page(results); }});
}

}  // namespace

void add_sparsity(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "sparsity", "How sparse attention can be: S against the spread of the scores, for relu^2, identity and exp");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("--keys", arguments->keys, "keys of a measured row")->type_name("N")->capture_default_str();
  command->add_option("--seed", arguments->seed, "seed of the random numbers")->type_name("N")->capture_default_str();
  command->add_option("--json", arguments->outputs.json_path, "write everything that was measured (-: standard output)")
      ->type_name("FILE");
  command->add_option("--svg", arguments->outputs.svg_path, "draw the curves (-: standard output)")->type_name("FILE");
  command->add_option("--html", arguments->outputs.html_path, "write a page to read")->type_name("FILE");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
