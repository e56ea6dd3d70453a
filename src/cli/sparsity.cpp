// isentropic sparsity: how sparse attention can be under three maps.
#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/progress_line.hpp"
#include "report/output_file.hpp"
#include "sparsity/present.hpp"

namespace isentropic::cli {
namespace {

struct Arguments {
  std::string keys = "20000", seed = "1", json_path, svg_path, html_path;
};

constexpr const char* kStandardOutput = "-";

void run(const Arguments& arguments) {
  concentration::Options options;
  options.keys = parse_integer("--keys", arguments.keys, 100, 10000000);
  options.seed =
      static_cast<std::uint64_t>(parse_integer("--seed", arguments.seed, 0, std::numeric_limits<std::int64_t>::max()));
  const bool prints_json = arguments.json_path == kStandardOutput, prints_svg = arguments.svg_path == kStandardOutput;
  if (prints_json && prints_svg) throw UsageError("--svg", "-", "a file, because --json is - too");
  if (!arguments.json_path.empty() && !prints_json) report::check_writable("--json", arguments.json_path);
  if (!arguments.svg_path.empty() && !prints_svg) report::check_writable("--svg", arguments.svg_path);

  if (!arguments.html_path.empty()) report::check_writable("--html", arguments.html_path);

  const concentration::Results results = [&] {
    ProgressLine line("sparsity");
    return concentration::run_experiment(options, [&](double share) { line.show(share); });
  }();

  if (prints_json) {
    fmt::print("{}\n", concentration::json(results).dump(2));
  } else if (prints_svg) {
    fmt::print("{}", concentration::picture(results));
  } else {
    fmt::print("{}", concentration::tables(results));
  }
  if (!arguments.json_path.empty() && !prints_json)
    report::write_file("--json", arguments.json_path, concentration::json(results).dump(2) + "\n");
  if (!arguments.svg_path.empty() && !prints_svg)
    report::write_file("--svg", arguments.svg_path, concentration::picture(results));
  if (!arguments.html_path.empty()) report::write_file("--html", arguments.html_path, concentration::page(results));
}

}  // namespace

void add_sparsity(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "sparsity", "How sparse attention can be: S against the spread of the scores, for relu^2, identity and exp");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("--keys", arguments->keys, "keys of a measured row")->type_name("N")->capture_default_str();
  command->add_option("--seed", arguments->seed, "seed of the random numbers")->type_name("N")->capture_default_str();
  command->add_option("--json", arguments->json_path, "write everything that was measured (-: standard output)")
      ->type_name("FILE");
  command->add_option("--svg", arguments->svg_path, "draw the curves (-: standard output)")->type_name("FILE");
  command->add_option("--html", arguments->html_path, "write a page to read")->type_name("FILE");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
