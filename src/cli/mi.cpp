// isentropic mi: mutual information between columns of a data file.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.hpp"
#include "cli/outputs.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/information/multivariate.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "isentropic/information/significance.hpp"
#include "isentropic/version.hpp"
#include "samples/read.hpp"

namespace isentropic::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAutomatic = "auto";
constexpr double kLevel = .95;

struct Arguments {
  std::string data, x, y, given;
  std::string estimator = kAutomatic, entropy, k, bins, scaling = "standardised";
  std::string permutations = "0", halves = "0", seed = "1";
  bool total_correlation = false, json = false;
};

struct Data {
  samples::Part x, y, z;  // y and z may have no columns
};

struct Findings {
  InformationOptions options;
  std::size_t n = 0;
  double seconds = 0;  // of the estimate alone
  std::optional<double> nats;
  std::optional<Significance> significance;
  std::optional<Interval> interval;
  std::optional<CorrelationReport> correlation;
  std::vector<std::string> warnings;
};

bool uses_neighbours(InformationEstimator estimator) {
  return estimator == InformationEstimator::ksg1 || estimator == InformationEstimator::ksg2 ||
         estimator == InformationEstimator::mixed;
}
bool uses_bins(InformationEstimator estimator) {
  return estimator == InformationEstimator::binned || estimator == InformationEstimator::equal_mass;
}
bool uses_entropy(InformationEstimator estimator) {
  return uses_bins(estimator) || estimator == InformationEstimator::discrete;
}

// ---- What was asked ----

std::string estimator_names() {
  std::string out = kAutomatic;
  for (InformationEstimator estimator : information_estimators()) out += ", " + name(estimator);
  return out;
}

std::string entropy_names() {
  std::string out;
  for (EntropyEstimator estimator : entropy_estimators()) out += (out.empty() ? "" : ", ") + name(estimator);
  return out;
}

// What can be judged without the data.
void check(const Arguments& arguments) {
  if (arguments.y.empty() && !arguments.total_correlation)
    throw UsageError("--y", "missing", "columns, unless --total-correlation is asked for");
  const auto needs_y = [&](const std::string& argument, const std::string& value, const std::string& usual) {
    if (arguments.y.empty() && value != usual) throw UsageError(argument, value, "--y with it");
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

void require_varying(const std::string& argument, const samples::Part& part) {
  for (std::size_t c = 0; c < part.table.columns; ++c) {
    bool varies = false;
    for (std::size_t r = 1; r < part.table.rows && !varies; ++r) varies = part.table(r, c) != part.table(0, c);
    if (!varies) throw UsageError("column " + part.names[c] + " of " + argument, "constant", "values that vary");
  }
}

Data read_data(const Arguments& arguments) {
  std::vector<samples::Selection> selections = {{"--x", arguments.x}};
  if (!arguments.y.empty()) selections.push_back({"--y", arguments.y});
  if (!arguments.given.empty()) selections.push_back({"--given", arguments.given});
  std::vector<samples::Part> parts = samples::read(arguments.data, selections);
  for (std::size_t p = 0; p < parts.size(); ++p) require_varying(selections[p].argument, parts[p]);
  Data out;
  out.x = std::move(parts[0]);
  if (!arguments.y.empty()) out.y = std::move(parts[1]);
  if (!arguments.given.empty()) out.z = std::move(parts.back());
  return out;
}

InformationEstimator chosen_estimator(const Arguments& arguments, const Data& data) {
  if (arguments.estimator != kAutomatic) return information_estimator_named(arguments.estimator);
  if (data.y.table.columns > 0) return suitable_estimator(data.x.table, data.y.table, data.z.table);
  // For total correlation alone: symbols or points.
  const bool symbols = suitable_estimator(data.x.table, data.x.table) == InformationEstimator::discrete;
  return symbols ? InformationEstimator::discrete : InformationEstimator::ksg1;
}

// An option that the estimator would ignore is a mistake.
void require_use(const std::string& argument, const std::string& value, bool used, InformationEstimator estimator) {
  if (!value.empty() && !used)
    throw UsageError(argument, value, "an --estimator that uses it; " + name(estimator) + " does not");
}

InformationOptions options_of(const Arguments& arguments, const Data& data) {
  InformationOptions out;
  out.estimator = chosen_estimator(arguments, data);
  require_use("--k", arguments.k, uses_neighbours(out.estimator), out.estimator);
  require_use("--bins", arguments.bins, uses_bins(out.estimator), out.estimator);
  require_use("--entropy", arguments.entropy, uses_entropy(out.estimator), out.estimator);
  constexpr std::int64_t kMost = 1 << 30;
  if (!arguments.k.empty()) out.k = static_cast<int>(parse_integer("--k", arguments.k, 1, kMost));
  if (!arguments.bins.empty()) out.bins = static_cast<int>(parse_integer("--bins", arguments.bins, 2, kMost));
  if (!arguments.entropy.empty()) out.entropy = entropy_estimator_named(arguments.entropy);
  out.scaling = arguments.scaling == "none" ? Scaling::none : Scaling::standardised;
  if (uses_neighbours(out.estimator) && static_cast<std::size_t>(out.k) >= data.x.table.rows)
    throw UsageError("--k", std::to_string(out.k), fmt::format("less than the {} samples", data.x.table.rows));
  return out;
}

// ---- The work ----

Findings find(const Arguments& arguments, const Data& data) {
  const auto seed = parse_seed(arguments.seed);
  const auto permutations = static_cast<int>(parse_integer("--permutations", arguments.permutations, 0, 1000000));
  const auto halves = static_cast<int>(parse_integer("--halves", arguments.halves, 0, 1000000));
  Findings out;
  out.options = options_of(arguments, data);
  out.n = data.x.table.rows;
  const Table &x = data.x.table, &y = data.y.table, &z = data.z.table;
  if (y.columns > 0) {
    const InformationMeasure measure = [&](const Table& some_x, const Table& some_y, const Table& some_z) {
      return estimate_information(some_x, some_y, some_z, out.options);
    };
    const auto start = std::chrono::steady_clock::now();
    out.nats = measure(x, y, z);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    out.warnings = information_warnings(x, y, z, out.options, *out.nats);
    if (std::isinf(*out.nats)) out.warnings.push_back("the estimate is infinite: y follows from x");
    if (permutations > 0) out.significance = permutation_significance(x, y, z, measure, permutations, seed);
    if (halves > 0) out.interval = half_sample_interval(x, y, z, measure, halves, kLevel, seed);
  }
  if (arguments.total_correlation) out.correlation = correlation_with_baselines(beside(x, y), out.options, seed);
  return out;
}

// ---- What was found ----

Json correlation_json(const Correlation& correlation) {
  return {{"total", correlation.total}, {"dual_total", correlation.dual_total}};
}

Json json_of(const Arguments& arguments, const Data& data, const Findings& findings) {
  Json out = {{"command", "mi"},
              {"version", ISENTROPIC_VERSION},
              {"data", arguments.data},
              {"x", data.x.names},
              {"y", data.y.names},
              {"given", data.z.names},
              {"n", findings.n},
              {"estimator", name(findings.options.estimator)},
              {"estimator_chosen_by", arguments.estimator == kAutomatic ? "data" : "user"}};
  if (uses_neighbours(findings.options.estimator)) {
    out["k"] = findings.options.k;
    out["scaling"] = arguments.scaling;
  }
  if (uses_bins(findings.options.estimator))
    out["bins"] = findings.options.bins > 0 ? findings.options.bins : usual_bins(findings.n);
  if (uses_entropy(findings.options.estimator)) out["entropy_estimator"] = name(findings.options.entropy);
  if (findings.nats) {
    out["nats"] = *findings.nats;
    out["bits"] = to_bits(*findings.nats);
    out["seconds"] = findings.seconds;
  }
  if (const auto& found = findings.significance) {
    out["p_value"] = found->p_value;
    out["surrogates"] = {{"permutations", found->permutations},
                         {"mean", found->surrogate_mean},
                         {"deviation", found->surrogate_deviation}};
  }
  if (const auto& found = findings.interval)
    out["interval"] = {{"level", kLevel},          {"low", found->low},
                       {"high", found->high},      {"deviation", found->deviation},
                       {"method", "half-samples"}, {"halves", found->halves}};
  if (const auto& found = findings.correlation) {
    out["total_correlation"] = found->observed.total;
    out["dual_total_correlation"] = found->observed.dual_total;
    out["resampled_positions"] = correlation_json(found->resampled_positions);
    out["shuffled_order"] = correlation_json(found->shuffled_order);
  }
  out["warnings"] = findings.warnings;
  return out;
}

std::string settings(const Arguments& arguments, const Findings& findings) {
  const InformationOptions& options = findings.options;
  std::string out = name(options.estimator);
  if (arguments.estimator == kAutomatic) out += " (chosen by the data)";
  if (uses_neighbours(options.estimator)) out += fmt::format(", k = {}, scaling {}", options.k, arguments.scaling);
  if (uses_bins(options.estimator))
    out += fmt::format(", {} bins", options.bins > 0 ? options.bins : usual_bins(findings.n));
  if (uses_entropy(options.estimator)) out += ", entropy by " + name(options.entropy);
  return out;
}

void print_findings(const Arguments& arguments, const Findings& findings) {
  if (findings.nats)
    fmt::print("I(x;y{}) = {:.6f} nats = {:.6f} bits\n", arguments.given.empty() ? "" : "|given", *findings.nats,
               to_bits(*findings.nats));
  fmt::print("estimator     {}\nsamples       {}\n", settings(arguments, findings), findings.n);
  if (const auto& found = findings.significance)
    fmt::print("permutations  p = {:.4g} ({} surrogates: mean {:.6f}, deviation {:.6f})\n", found->p_value,
               found->permutations, found->surrogate_mean, found->surrogate_deviation);
  if (const auto& found = findings.interval)
    fmt::print("interval      {:.6f} to {:.6f} nats ({:.0f}%, {} half-samples)\n", found->low, found->high,
               100 * kLevel, found->halves);
  if (const auto& found = findings.correlation) {
    const auto line = [](const char* title, const Correlation& correlation) {
      fmt::print("{:<22}{:>10.6f} nats total {:>10.6f} dual total correlation\n", title, correlation.total,
                 correlation.dual_total);
    };
    line("as observed", found->observed);
    line("resampled positions", found->resampled_positions);
    line("shuffled order", found->shuffled_order);
  }
}

void run(const Arguments& arguments) {
  check(arguments);
  try {
    const Data data = read_data(arguments);
    const Findings findings = find(arguments, data);
    for (const std::string& warning : findings.warnings) fmt::print(stderr, "isentropic: warning: {}\n", warning);
    if (arguments.json) {
      fmt::print("{}", json_text(json_of(arguments, data, findings)));
    } else {
      print_findings(arguments, findings);
    }
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {  // all that can be wrong here is what was asked, or the data
    throw UsageError(error.what());
  }
}

}  // namespace

void add_mi(CLI::App& program) {
  CLI::App* command = program.add_subcommand("mi", "Mutual information between columns of a data file (text or .npy)");
  const auto arguments = std::make_shared<Arguments>();
  const auto option = [&](const std::string& flag, std::string* value, const std::string& help, const char* type) {
    return command->add_option(flag, *value, help)->type_name(type);
  };
  option("DATA", &arguments->data, "CSV, TSV, blanks between columns, or .npy; one observation per row", "")
      ->required();
  option("--x", &arguments->x, "columns by name or number from 0, e.g. 0,1 or 0-3 or age", "COLS")->required();
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
  command->add_flag("--total-correlation", arguments->total_correlation,
                    "total and dual total correlation of all columns named, with two shuffled baselines");
  command->add_flag("--json", arguments->json, "as JSON");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
