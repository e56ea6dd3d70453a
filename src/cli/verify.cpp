// isentropic verify: every claim of the sources, checked.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/outputs.hpp"
#include "cli/progress_line.hpp"
#include "ledger/present.hpp"
#include "report/output_file.hpp"

namespace isentropic::cli {
namespace {

struct Arguments {
  std::vector<std::string> prefixes;
  std::string seed = "1";
  Outputs outputs;
  bool thorough = false, details = false;
};

std::vector<ledger::Claim> claims_of(const Arguments& arguments) {
  try {
    return ledger::claims_with(arguments.prefixes);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

void run(const Arguments& arguments) {
  ledger::Options options;
  options.seed = parse_seed(arguments.seed);
  if (arguments.thorough) options.effort = ledger::Effort::thorough;
  const std::vector<ledger::Claim> claims = claims_of(arguments);
  const std::string &json_path = arguments.outputs.json_path, &html_path = arguments.outputs.html_path;
  arguments.outputs.check();
  const bool prints_json = json_path == "-";

  ProgressLine progress("verify");
  std::size_t known = 0;
  const auto outcomes = ledger::run_claims(claims, options, [&](const ledger::Outcome& outcome) {
    progress.clear();
    if (!prints_json) fmt::print("{}\n", ledger::line(outcome));
    if (!prints_json && arguments.details) fmt::print("{}", ledger::details(outcome));
    std::fflush(stdout);
    progress.show(static_cast<double>(++known) / static_cast<double>(claims.size()));
  });
  progress.clear();

  const ledger::Tally counts = ledger::tally(outcomes);
  if (prints_json)
    fmt::print("{}", json_text(ledger::json(outcomes, options)));
  else
    fmt::print("{} passed, {} failed, {} pending, {} with nothing to compute\n", counts.passed, counts.failed,
               counts.pending, counts.listed);
  if (!json_path.empty() && !prints_json)
    report::write_file("--json", json_path, json_text(ledger::json(outcomes, options)));
  if (!html_path.empty()) {
    report::write_file("--html", html_path, ledger::page(outcomes, options));
    fmt::print(stderr, "verify: wrote {}\n", html_path);
  }
  if (counts.failed > 0)
    throw Error(fmt::format("verify: {} of {} checks failed", counts.failed, counts.passed + counts.failed));
}

}  // namespace

void add_verify(CLI::App& program) {
  CLI::App* command = program.add_subcommand("verify", "Check the claims of the theory, each by an experiment");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("ID-PREFIX", arguments->prefixes, "only claims whose ids start so: 001, 003-s, 000-10.4.6 (all)");
  command->add_option("--json", arguments->outputs.json_path, "write what was measured (-: standard output)")
      ->type_name("FILE");
  command->add_option("--html", arguments->outputs.html_path, "write a page to read")->type_name("FILE");
  command->add_option("--seed", arguments->seed, "seed of the random numbers")->type_name("N")->capture_default_str();
  command->add_flag("--thorough", arguments->thorough, "the larger experiments");
  command->add_flag("--details", arguments->details, "print every comparison, not only the most telling one");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
