// isentropic lengths: entropy against context length for every scale law.
#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/progress_line.hpp"
#include "lengths/experiment.hpp"
#include "lengths/present.hpp"
#include "report/output_file.hpp"

namespace isentropic::cli {
namespace {

struct Arguments {
  std::string d = "64", seed = "1", positions = "none", strength;
  std::vector<std::string> laws;
  bool quick = false, thorough = false;
  std::string json_path, svg_path, html_path;
};

constexpr const char* kStandardOutput = "-";

lengths::Options options_of(const Arguments& arguments) {
  lengths::Options out;
  out.d = parse_integer("--d", arguments.d, 2, 1024);
  out.seed =
      static_cast<std::uint64_t>(parse_integer("--seed", arguments.seed, 0, std::numeric_limits<std::int64_t>::max()));
  out.laws = arguments.laws;
  if (arguments.quick) out.effort = lengths::Effort::quick;
  if (arguments.thorough) out.effort = lengths::Effort::thorough;
  try {
    out.positions.kind = lengths::positions_named(arguments.positions);
    lengths::laws_of(out);
  } catch (const Error& error) {
    throw UsageError(std::string("--") + error.what());
  }
  out.positions.strength = lengths::usual_strength(out.positions.kind);
  if (!arguments.strength.empty()) {
    if (out.positions.kind == lengths::Positions::none)
      throw UsageError("--strength", arguments.strength, "--positions other than none with it");
    out.positions.strength = parse_number("--strength", arguments.strength, 0, 100);
  }
  return out;
}

void run(const Arguments& arguments) {
  const lengths::Options options = options_of(arguments);
  const bool prints_json = arguments.json_path == kStandardOutput, prints_svg = arguments.svg_path == kStandardOutput;
  if (prints_json && prints_svg) throw UsageError("--svg", "-", "a file, because --json is - too");
  if (!arguments.json_path.empty() && !prints_json) report::check_writable("--json", arguments.json_path);
  if (!arguments.svg_path.empty() && !prints_svg) report::check_writable("--svg", arguments.svg_path);
  if (!arguments.html_path.empty()) report::check_writable("--html", arguments.html_path);

  fmt::print(stderr, "lengths: needs about {} MiB of memory for n up to {}\n",
             (lengths::memory_needed(options) >> 20) + 1, lengths::experiment_lengths(options.effort).back());
  const lengths::Results results = [&] {
    ProgressLine line("lengths");
    return lengths::run_experiment(options, [&](double share) { line.show(share); });
  }();

  if (prints_json) {
    fmt::print("{}\n", lengths::json(results).dump(2));
  } else if (prints_svg) {
    fmt::print("{}", lengths::picture(results));
  } else {
    fmt::print("{}", lengths::tables(results));
  }
  if (!arguments.json_path.empty() && !prints_json)
    report::write_file("--json", arguments.json_path, lengths::json(results).dump(2) + "\n");
  if (!arguments.svg_path.empty() && !prints_svg)
    report::write_file("--svg", arguments.svg_path, lengths::picture(results));
  if (!arguments.html_path.empty()) report::write_file("--html", arguments.html_path, lengths::page(results));
}

}  // namespace

void add_lengths(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "lengths", "Entropy of attention against context length, n = 2^6 ... 2^17, for every scale law");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("--d", arguments->d, "size of a head in the printed tables")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--positions", arguments->positions, "none, random, sinusoidal, alibi or relative")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--strength", arguments->strength, "amplitude or slope of the position code (1; alibi: 0.1)")
      ->type_name("X");
  command->add_option("--laws", arguments->laws, "names of laws, separated by commas (all)")
      ->type_name("NAME,...")
      ->delimiter(',');
  command->add_option("--seed", arguments->seed, "seed of the random numbers")->type_name("N")->capture_default_str();
  CLI::Option* quick = command->add_flag("--quick", arguments->quick, "lengths up to 2^12 and few draws: seconds");
  command->add_flag("--thorough", arguments->thorough, "four times the draws")->excludes(quick);
  command->add_option("--json", arguments->json_path, "write everything that was measured (-: standard output)")
      ->type_name("FILE");
  command->add_option("--svg", arguments->svg_path, "draw the curves (-: standard output)")->type_name("FILE");
  command->add_option("--html", arguments->html_path, "write a page to read")->type_name("FILE");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
