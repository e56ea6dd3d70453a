// isentropic mi: mutual information between columns of a data file.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/outputs.hpp"
#include "cli/tools/progress.hpp"
#include "cli/tools/terminal.hpp"
#include "experiments/mutual_information/findings.hpp"

namespace isentropic::cli {
namespace {

using information::EntropyEstimator;
using information::InformationEstimator;
using information::InformationOptions;

using experiments::mutual_information::Data;

constexpr const char* kAutomatic = "auto";

struct MiArguments {
  std::string data, x, y, given;
  std::string estimator = kAutomatic, entropy, k, bins, scaling = "standardised";
  std::string permutations = "0", halves = "0", seed = "1";
  bool total_correlation = false, drop_missing = false;
  Outputs outputs;
};

std::string estimator_names() {
  std::string out = kAutomatic;
  for (InformationEstimator estimator : information::information_estimators()) out += ", " + name(estimator);
  return out;
}

std::string entropy_names() {
  std::string out;
  for (EntropyEstimator estimator : information::entropy_estimators())
    out += (out.empty() ? "" : ", ") + name(estimator);
  return out;
}

// Checks that do not need the data.
void check(const MiArguments& arguments) {
  for (const auto& [argument, columns] : {std::pair{"--x", &arguments.x}, {"--y", &arguments.y}})
    if (columns->empty() && !(arguments.total_correlation && arguments.y.empty()))
      throw UsageError(argument, "missing", "columns, unless --total-correlation is given");
  const auto needs_y = [&](const std::string& argument, const std::string& value, const std::string& usual) {
    if (arguments.y.empty() && value != usual) throw UsageError(argument, value, "--y as well");
  };
  needs_y("--given", arguments.given, "");
  needs_y("--permutations", arguments.permutations, "0");
  needs_y("--halves", arguments.halves, "0");
  const auto known = [](const std::string& argument, const std::string& value, const std::string& names) {
    if ((", " + names + ",").find(", " + value + ",") == std::string::npos)
      throw UsageError(argument, "'" + value + "'", "one of " + names);
  };
  known("--estimator", arguments.estimator, estimator_names());
  if (!arguments.entropy.empty()) known("--entropy", arguments.entropy, entropy_names());
  known("--scaling", arguments.scaling, "standardised, none");
}

void require_varying(const std::string& argument, const io::Part& part) {
  for (std::size_t c = 0; c < part.table.columns; ++c) {
    bool varies = false;
    for (std::size_t r = 1; r < part.table.rows && !varies; ++r) varies = part.table(r, c) != part.table(0, c);
    if (!varies) throw UsageError("column " + part.names[c] + " of " + argument, "constant", "values that vary");
  }
}

Data read_data(const MiArguments& arguments) {
  std::vector<io::Selection> selections = {{"--x", arguments.x.empty() ? "*" : arguments.x}};
  if (!arguments.y.empty()) selections.push_back({"--y", arguments.y});
  if (!arguments.given.empty()) selections.push_back({"--given", arguments.given});
  io::Samples read = io::read(arguments.data, selections,
                              {.content = io::Content::anything,
                               .missing = arguments.drop_missing ? io::Missing::dropped : io::Missing::refused,
                               .instead_of_missing = "--drop-missing to leave such rows out"});
  std::vector<io::Part>& parts = read.parts;
  for (std::size_t p = 0; p < parts.size(); ++p) require_varying(selections[p].argument, parts[p]);
  Data out{.source = arguments.data,
           .rows_dropped = read.rows_dropped,
           .notes = std::move(read.notes),
           .x = std::move(parts[0]),
           .y = {},
           .given = {}};
  if (!arguments.y.empty()) out.y = std::move(parts[1]);
  if (!arguments.given.empty()) out.given = std::move(parts.back());
  return out;
}

// Rejects an option that the estimator would ignore.
void require_use(const std::string& argument, const std::string& value, bool used, InformationEstimator estimator) {
  if (!value.empty() && !used)
    throw UsageError(argument, value, "an --estimator that uses it; " + name(estimator) + " does not");
}

InformationOptions options_of(const MiArguments& arguments, const Data& data) {
  InformationOptions out;
  out.estimator = arguments.estimator == kAutomatic ? experiments::mutual_information::estimator_for(data)
                                                    : information::information_estimator_named(arguments.estimator);
  experiments::mutual_information::require_symbols_for_text(data, out.estimator);
  require_use("--k", arguments.k, experiments::mutual_information::uses_neighbours(out.estimator), out.estimator);
  require_use("--bins", arguments.bins, experiments::mutual_information::uses_bins(out.estimator), out.estimator);
  require_use("--entropy", arguments.entropy, experiments::mutual_information::uses_entropy(out.estimator),
              out.estimator);
  constexpr std::int64_t kMost = 1 << 30;
  if (!arguments.k.empty()) out.k = static_cast<int>(parse_integer("--k", arguments.k, 1, kMost));
  if (!arguments.bins.empty()) out.bins = static_cast<int>(parse_integer("--bins", arguments.bins, 2, kMost));
  if (!arguments.entropy.empty()) out.entropy = information::entropy_estimator_named(arguments.entropy);
  out.scaling = arguments.scaling == "none" ? information::Scaling::none : information::Scaling::standardised;
  if (experiments::mutual_information::uses_neighbours(out.estimator) &&
      static_cast<std::size_t>(out.k) >= data.x.table.rows)
    throw UsageError("--k", std::to_string(out.k), fmt::format("less than the {} samples", data.x.table.rows));
  return out;
}

experiments::mutual_information::Request request_of(const MiArguments& arguments, const Data& data) {
  constexpr std::int64_t kMost = 1'000'000;
  return {.options = options_of(arguments, data),
          .estimator_chosen_by_data = arguments.estimator == kAutomatic,
          .permutations = static_cast<int>(parse_integer("--permutations", arguments.permutations, 0, kMost)),
          .halves = static_cast<int>(parse_integer("--halves", arguments.halves, 0, kMost)),
          .seed = parse_seed(arguments.seed),
          .total_correlation = arguments.total_correlation};
}

struct Answer {
  Data data;
  experiments::mutual_information::Request request;
  experiments::mutual_information::Findings findings;
};

Answer answer_to(const MiArguments& arguments) {
  try {
    Answer out;
    out.data = read_data(arguments);
    for (const std::string& note : out.data.notes) fmt::print(stderr, "mi: {}\n", printable_line(note));
    out.request = request_of(arguments, out.data);
    Progress progress("mi", experiments::mutual_information::memory_needed(out.data));
    out.findings = find(out.data, out.request, [&](double share) { progress.show(share); });
    return out;
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {  // only the arguments or the data can be wrong here
    throw UsageError(error.what());
  }
}

void run(const MiArguments& arguments) {
  check(arguments);
  arguments.outputs.check({arguments.data});
  const auto [data, request, findings] = answer_to(arguments);
  for (const std::string& warning : findings.warnings) fmt::print(stderr, "isentropic: warning: {}\n", warning);
  arguments.outputs.write(
      {[&] { return text(data, request, findings); }, [&] { return json(data, request, findings); }});
}

}  // namespace

void add_mi(CLI::App& program) {
  CLI::App* command = program.add_subcommand("mi", "Mutual information between columns of a data file (text or .npy)");
  const auto arguments = std::make_shared<MiArguments>();
  const auto option = [&](const std::string& flag, std::string* value, const std::string& help, const char* type) {
    return command->add_option(flag, *value, help)->type_name(type);
  };
  option("DATA", &arguments->data, "CSV, TSV, whitespace-separated text or .npy; one observation per row", "")
      ->required();
  option("--x", &arguments->x, "columns by name or number from 0, e.g. 0,1 or 0-3 or age; numbers, True/False or text",
         "COLS");
  option("--y", &arguments->y, "columns of the other variable", "COLS");
  option("--given", &arguments->given, "columns of the condition: I(x;y|given)", "COLS");
  option("--estimator", &arguments->estimator, estimator_names(), "NAME")->capture_default_str();
  option("--k", &arguments->k, "neighbours (3)", "N");
  option("--scaling", &arguments->scaling, "standardised or none, before distances are compared", "NAME")
      ->capture_default_str();
  option("--bins", &arguments->bins, "intervals of each column (the cube root of the samples)", "N");
  option("--entropy", &arguments->entropy, "of symbols: " + entropy_names() + " (miller_madow)", "NAME");
  option("--permutations", &arguments->permutations, "surrogates for a p-value", "N")->capture_default_str();
  option("--halves", &arguments->halves, "half-samples for a 95% interval", "N")->capture_default_str();
  option("--seed", &arguments->seed, "seed of the random numbers", "N")->capture_default_str();
  command->add_flag(
      "--total-correlation", arguments->total_correlation,
      "total and dual total correlation of the columns of --x and --y (all without either), with two shuffled "
      "baselines");
  command->add_flag("--drop-missing", arguments->drop_missing, "leave out rows with an empty cell (or NaN, NA, null)");
  arguments->outputs.offer_json(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
