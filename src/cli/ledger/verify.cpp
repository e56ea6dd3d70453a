// isentropic verify: checks every claim of the sources.
#include "cli/ledger/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/tools/arguments.hpp"
#include "cli/tools/outputs.hpp"
#include "cli/tools/progress.hpp"
#include "cli/tools/terminal.hpp"
#include "ledger/present.hpp"

namespace isentropic::cli {
namespace {

struct VerifyArguments {
  std::vector<std::string> prefixes;
  std::string seed = "1";
  Outputs outputs;
  bool thorough = false, details = false;
};

std::vector<ledger::Claim> claims_of(const VerifyArguments& arguments, const ledger::NetworkChecks& checks) {
  try {
    return ledger::with_network_checks(ledger::claims_with(arguments.prefixes), checks);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

bool lacks_networks(const std::vector<ledger::Claim>& claims) {
  return std::ranges::any_of(claims, [](const ledger::Claim& x) { return x.on_libtorch && x.check == nullptr; });
}

void run(const VerifyArguments& arguments, const VerifyProgram& does) {
  ledger::Options options;
  options.seed = parse_seed(arguments.seed);
  if (arguments.thorough) options.effort = ledger::Effort::thorough;
  const std::vector<ledger::Claim> claims = claims_of(arguments, does.network_checks);
  arguments.outputs.check();
  if (arguments.thorough && does.hand_over && lacks_networks(claims)) does.hand_over();
  const bool shows_lines = arguments.outputs.shows_tables();

  Progress progress("verify");
  std::size_t known = 0;
  const auto outcomes = ledger::run_claims(claims, options, [&](const ledger::Outcome& outcome) {
    progress.clear();
    if (shows_lines) print(ledger::line(outcome) + "\n");
    if (shows_lines && arguments.details) print(ledger::details(outcome));
    std::fflush(stdout);
    progress.show(static_cast<double>(++known) / static_cast<double>(claims.size()));
  });
  progress.clear();

  const ledger::Tally counts = ledger::tally(outcomes);
  arguments.outputs.write(
      {[&] {
         return fmt::format("{} passed, {} failed, {} with a stored study, {} pending, {} with nothing to compute\n",
                            counts.passed, counts.failed, counts.stored, counts.pending, counts.listed);
       },
       [&] { return ledger::json(outcomes, options); },
       {},
       [&] { return ledger::page(outcomes, options); }});
  if (counts.failed > 0)
    throw Error(fmt::format("verify: {} of {} checks failed", counts.failed, counts.passed + counts.failed));
}

}  // namespace

void add_verify(CLI::App& program, const VerifyProgram& does) {
  CLI::App* command = program.add_subcommand("verify", "Check the claims of the theory, each by an experiment");
  const auto arguments = std::make_shared<VerifyArguments>();
  command->add_option("ID-PREFIX", arguments->prefixes,
                      "only claims whose ids start with this: 001, 003-s, 000-10.4.6 (all)");
  arguments->outputs.offer_json(command);
  arguments->outputs.offer_html(command);
  command->add_option("--seed", arguments->seed, "seed of the random numbers")->type_name("N")->capture_default_str();
  command->add_flag("--thorough", arguments->thorough, "the larger experiments, and small networks that are trained");
  command->add_flag("--details", arguments->details, "print every comparison, not only the most telling one");
  command->callback([arguments, does] { run(*arguments, does); });
}

}  // namespace isentropic::cli
