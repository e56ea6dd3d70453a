// The lengths experiment as text tables for the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/lengths/present.hpp"
#include "report/text_table.hpp"

namespace isentropic::experiments::lengths {
namespace {

using report::TextTable;

// A subset of the lengths: every fourth and the last.
std::vector<std::size_t> shown(const std::vector<std::int64_t>& lengths) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i + 1 < lengths.size(); i += 4) out.push_back(i);
  out.push_back(lengths.size() - 1);
  return out;
}

// Fixed-point with `digits` decimals, and never "-0.000".
std::string number(double x, int digits) {
  const std::string text = fmt::format("{:.{}f}", x, digits);
  return text.find_first_not_of("-0.") == std::string::npos && text[0] == '-' ? text.substr(1) : text;
}

std::string with_error(const Estimate& x, int digits) {
  return fmt::format("{} ± {}", number(x.mean, digits), number(x.error, digits));
}

std::string description(const Results& results) {
  const PositionCode& positions = results.options.positions;
  std::string out = fmt::format("d = {}, norms √d", results.options.d);
  if (positions.kind != Positions::none)
    out += fmt::format(", positions {} of strength {:g}", name(positions.kind), positions.strength);
  return out;
}

std::vector<std::string> header(const Results& results, std::vector<std::string> cells) {
  for (const std::size_t i : shown(results.lengths))
    cells.push_back(fmt::format("{}{}", i == 0 ? "n = " : "", results.lengths[i]));
  return cells;
}

std::string entropy_table(const Results& results) {
  std::vector<std::string> head = header(results, {"scale λ", fmt::format("λ({})", results.lengths.front()),
                                                   fmt::format("λ({})", results.lengths.back())});
  head.push_back("slope dH/dlog n");
  TextTable table(head);
  std::vector<std::string> ceiling = {"0: uniform, H = log n", "0", "0"};
  for (const std::size_t i : shown(results.lengths))
    ceiling.push_back(fmt::format("{:.2f}", std::log(static_cast<double>(results.lengths[i]))));
  ceiling.push_back("1");
  table.add_row(ceiling);
  for (const Curve& curve : results.main().curves) {
    std::vector<std::string> row = {curve.law.label, fmt::format("{:.3f}", curve.points.front().lambda.mean),
                                    fmt::format("{:.3f}", curve.points.back().lambda.mean)};
    for (const std::size_t i : shown(results.lengths))
      row.push_back(fmt::format("{:.2f}", curve.points[i].entropy.mean));
    row.push_back(with_error(curve.slope, 3));
    table.add_row(row);
  }
  return fmt::format("Entropy H of attention over n random keys, in nats ({})\n\n{}", description(results),
                     table.str());
}

std::string needle_table(const Results& results) {
  std::vector<std::string> head = header(results, {"scale λ"});
  head.push_back("slope of H");
  TextTable table(head);
  for (const Curve& curve : results.main().curves) {
    std::vector<std::string> row = {curve.law.label};
    for (const std::size_t i : shown(results.lengths))
      row.push_back(fmt::format("{:.3f}", curve.points[i].needle.mean));
    row.push_back(number(curve.needle_slope.mean, 3));
    table.add_row(row);
  }
  return fmt::format("Probability of a needle, the one key equal to the query, at position 0 among random keys\n\n{}",
                     table.str());
}

std::string kappa_cell(const Compensation& compensation) {
  if (!compensation.zero) return fmt::format("none ≤ {:g}", compensation.tried.back().kappa);
  return compensation.is_clear() ? with_error(*compensation.zero, 1) : "unclear";
}

std::string slope_table(const Results& results) {
  // Random keys by head size, then the other families.
  std::vector<const Sweep*> columns;
  for (const Sweep& sweep : results.sweeps) columns.push_back(&sweep);
  std::ranges::stable_sort(columns, {}, [](const Sweep* sweep) { return std::pair(sweep->keys, sweep->d); });

  std::vector<std::string> head = {"scale λ"}, kappa = {"κ log n/d is flat at κ ="};
  for (const Sweep* sweep : columns) {
    head.push_back(sweep->keys == Keys::random ? fmt::format("d = {}", sweep->d) : name(sweep->keys));
    kappa.push_back(kappa_cell(sweep->compensation));
  }
  TextTable table(head);
  const std::vector<Curve>& rows = results.main().curves;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> row = {rows[i].law.label};
    for (const Sweep* sweep : columns)
      row.push_back(i < sweep->curves.size() ? number(sweep->curves[i].slope.mean, 3) : "");
    table.add_row(row);
  }
  table.add_rule();
  table.add_row(kappa);
  return fmt::format(
      "Slope dH/dlog n by size of head, and for other kinds of keys at d = {} (1: spreads over all keys; 0: "
      "constant)\n\n{}",
      results.options.d, table.str());
}

std::string closing_line(const Results& results) {
  const Compensation& compensation = results.main().compensation;
  if (compensation.is_clear())
    return fmt::format("λ = κ log n/d keeps H constant here at κ = {}.\n", with_error(*compensation.zero, 2));
  const Trial flattest = compensation.flattest();
  return fmt::format("{} κ from {:g} to {:g} keeps H constant under λ = κ log n/d; flattest is κ = {:g}, slope {}.\n",
                     compensation.zero ? "No certain" : "No", compensation.tried.front().kappa,
                     compensation.tried.back().kappa, flattest.kappa, with_error(flattest.slope, 3));
}

}  // namespace

std::string tables(const Results& results) {
  return entropy_table(results) + "\n" + needle_table(results) + "\n" + slope_table(results) + "\n" +
         closing_line(results);
}

}  // namespace isentropic::experiments::lengths
