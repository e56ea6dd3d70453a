// The noise experiment as text tables for the terminal.
#include <fmt/format.h>

#include "experiments/noise/numbers.hpp"
#include "experiments/noise/present.hpp"
#include "report/text_table.hpp"

namespace isentropic::experiments::noise {
namespace {

using report::TextTable;

std::string power_line(const Curve& curve) {
  return fmt::format("median change ~ n^p: p = {}, predicted {}\n", with_error(curve.power, 3),
                     curve.predicted_power ? number(*curve.predicted_power, 3) : "none");
}

std::string noise_table(const Curve& curve) {
  TextTable table({"n", "bias", "predicted", "rms", "predicted", "median"});
  for (const Point& point : curve.points)
    table.add_row({std::to_string(point.n), with_error(point.bias, 6), number(point.predicted_bias, 6),
                   with_error(point.rms, 5), number(point.predicted_rms, 5), number(point.median.mean, 5)});
  return fmt::format("{}\n\n{}\n{}", curve.noise.label(), table.str(), power_line(curve));
}

std::string attack_table(const Results& results) {
  TextTable table({"budget", "eps", "sign", "gradient", "single", "best gain", "worst row"});
  for (const AttackRow& row : results.attacks) {
    std::vector<std::string> cells = {kBudgetNames[static_cast<std::size_t>(row.budget)], fmt::format("{:g}", row.eps)};
    for (const Mean& share : row.shares) cells.push_back(number(share.mean(), 3));
    cells.push_back(number(row.best_gain, 4));
    cells.push_back(number(row.worst_share, 3));
    table.add_row(cells);
  }
  return fmt::format(
      "Attacks on rows of 10 keys, scores and values N(0, 1): share of the best gain within |delta| <= eps that each\n"
      "direction reaches, mean of {} rows. For small eps sign is best for inf, gradient for l2, single for l1; the "
      "last\n"
      "column is the least share of that one.\n\n{}",
      results.options.attack_trials, table.str());
}

}  // namespace

std::string tables(const Results& results) {
  std::string out = fmt::format(
      "Change of the output of attention under noise on the scores, {} draws; scores and values 0, 1, 0, 1, ...\n\n",
      results.options.draws);
  for (const Curve& curve : results.curves) out += noise_table(curve) + "\n";
  return out + attack_table(results);
}

}  // namespace isentropic::experiments::noise
