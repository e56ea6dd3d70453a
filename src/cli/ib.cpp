// isentropic ib: the information bottleneck of a joint distribution.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/tools/arguments.hpp"
#include "cli/tools/outputs.hpp"
#include "cli/tools/progress.hpp"
#include "cli/tools/terminal.hpp"
#include "experiments/bottleneck/present.hpp"
#include "io/read.hpp"

namespace isentropic::cli {
namespace {

using information::Table;

struct IbArguments {
  std::string joint, columns = "*", seed = "1";
  Outputs outputs;
  std::vector<std::string> betas;
  bool deterministic = false, normalise = false;
};

void require_size(const Table& joint) {
  constexpr std::size_t kMost = 2000;
  if (joint.rows < 2 || joint.columns < 2 || joint.rows > kMost || joint.columns > kMost)
    throw UsageError("JOINT", fmt::format("{} x {}", joint.rows, joint.columns),
                     fmt::format("2 to {} rows and columns", kMost));
}

// Whether the first column is named and contains increasing integers, as in pandas' crosstab of integers.
bool seems_to_name_rows(const io::Part& part) {
  bool counts_up = part.table.rows > 2 && part.names.front() != "0";
  for (std::size_t r = 0; r < part.table.rows && counts_up; ++r) {
    const double label = part.table(r, 0);
    counts_up = label == std::floor(label) && (r == 0 || label > part.table(r - 1, 0));
  }
  return counts_up;
}

// Returns the probabilities, normalised exactly.
Table joint_of(const IbArguments& arguments) {
  Table joint;
  try {
    io::Samples read = io::read(arguments.joint, {{"--columns", arguments.columns}});
    io::Part& part = read.parts.front();
    if (arguments.columns == "*" && seems_to_name_rows(part))
      read.notes.push_back(fmt::format("column {} was read as data; if it names the rows, give --columns without it",
                                       part.names.front()));
    for (const std::string& note : read.notes) fmt::print(stderr, "ib: {}\n", printable_line(note));
    joint = std::move(part.table);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  require_size(joint);
  double sum = 0;
  for (std::size_t x = 0; x < joint.rows; ++x)
    for (std::size_t y = 0; y < joint.columns; ++y) {
      if (joint(x, y) < 0)
        throw UsageError(fmt::format("{}: p(x = {}, y = {})", arguments.joint, x, y), fmt::format("{:g}", joint(x, y)),
                         "a probability");
      sum += joint(x, y);
    }
  constexpr double kRounding = 1e-6;
  if (!arguments.normalise && !(std::abs(sum - 1) <= kRounding))
    throw UsageError("the sum of JOINT", fmt::format("{:.9g}", sum), "1, or --normalise");
  if (!(sum > 0) || std::isinf(sum)) throw UsageError("the sum of JOINT", fmt::format("{:g}", sum), "a number > 0");
  for (double& p : joint.values) p /= sum;
  return joint;
}

std::vector<double> betas_of(const IbArguments& arguments) {
  std::vector<double> out;
  for (const std::string& text : arguments.betas) {
    out.push_back(parse_number("--betas", text, 1e-6, 1e6));
    if (out.size() > 1 && out.back() <= out[out.size() - 2]) throw UsageError("--betas", text, "increasing numbers");
  }
  return out;
}

void run(const IbArguments& arguments) {
  experiments::bottleneck::Results results;
  results.options.seed = parse_seed(arguments.seed);
  if (arguments.deterministic) results.options.kind = information::BottleneckKind::deterministic;
  std::vector<double> betas = betas_of(arguments);
  const Table joint = joint_of(arguments);
  arguments.outputs.check({arguments.joint});
  results.source = arguments.joint;
  results.rows = joint.rows;
  results.columns = joint.columns;
  {
    const std::size_t points = betas.empty() ? experiments::bottleneck::usual_betas(1).size() : betas.size();
    Progress progress("ib", experiments::bottleneck::memory_needed(joint.rows, joint.columns, points));
    progress.show(0);
    constexpr double kCritical = .06;  // fraction of the time, for large joints
    results.critical = information::critical_beta(joint, 64, results.options.seed,
                                                  [&](double share) { progress.show(kCritical * share); });
    results.options.critical_input = results.critical.input;
    if (betas.empty()) betas = experiments::bottleneck::usual_betas(results.critical.global);
    results.curve = information::bottleneck_curve(
        joint, betas, results.options, [&](double share) { progress.show(kCritical + (1 - kCritical) * share); });
  }

  arguments.outputs.write({[&] { return experiments::bottleneck::table(results); },
                           [&] { return experiments::bottleneck::json(results); },
                           [&] { return experiments::bottleneck::picture(results); },
                           [&] { return experiments::bottleneck::page(results); }});
}

}  // namespace

void add_ib(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "ib", "Information bottleneck of a joint distribution: what short codes of X keep about Y");
  const auto arguments = std::make_shared<IbArguments>();
  command
      ->add_option("JOINT", arguments->joint,
                   "p(x, y): CSV, whitespace-separated text or .npy; x along the rows, header optional")
      ->required();
  command->add_option("--columns", arguments->columns, "the values of Y, by name or number from 0 (all)")
      ->type_name("COLS");
  command
      ->add_option("--betas", arguments->betas,
                   "trade-off parameters, increasing (default: 1% to 102% of the critical value)")
      ->type_name("X,...")
      ->delimiter(',');
  command->add_flag("--deterministic", arguments->deterministic, "codes that are functions of X, at the price H(Z)");
  command->add_flag("--normalise", arguments->normalise, "divide by the sum, for tables of counts");
  command->add_option("--seed", arguments->seed, "seed of the random starts")->type_name("N")->capture_default_str();
  arguments->outputs.offer_json(command);
  arguments->outputs.offer_svg(command, "draw the curve");
  arguments->outputs.offer_html(command);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace isentropic::cli
