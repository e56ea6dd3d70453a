// The sparsity experiment as text tables for the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/sparsity/present.hpp"
#include "report/text_table.hpp"

namespace isentropic::experiments::sparsity {
namespace {

constexpr double kShown[] = {0.25, 0.5, 1, 2, 5};

std::size_t index_of(const Results& results, double gamma) {
  return static_cast<std::size_t>(std::ranges::find(results.gammas, gamma) - results.gammas.begin());
}

// Where the formula speaks of as many keys as there are, and the error is not itself a guess.
std::string closing_line(const Results& results) {
  double worst = 0;
  for (const Curve& curve : results.curves) {
    for (std::size_t i = 0; i < results.gammas.size(); ++i) {
      if (curve.map == WeightMap::exp && results.gammas[i] > 0.7 * results.exp_breaks_at()) continue;
      const double formula = sparsity_of(curve.map, curve.beta, results.gammas[i]);
      worst = std::max(worst, std::abs(curve.mean[i] - formula));
    }
  }
  return fmt::format(
      "Largest distance from the formulas: {:.4f} (exp: gamma up to {:.1f}). Over {} keys S is at least {:.4f}, or 0 "
      "where\nno key has weight.\n",
      worst, 0.7 * results.exp_breaks_at(), results.options.keys,
      1 / std::sqrt(static_cast<double>(results.options.keys)));
}

}  // namespace

std::string tables(const Results& results) {
  std::vector<std::string> head = {"map", "beta"};
  for (const double gamma : kShown) head.push_back(fmt::format("gamma = {:g}", gamma));
  head.push_back("limit");
  report::TextTable table(head);
  for (std::size_t c = 0; c < results.curves.size(); ++c) {
    const Curve& curve = results.curves[c];
    if (c > 0 && curve.map != results.curves[c - 1].map) table.add_rule();
    std::vector<std::string> row = {label(curve.map),
                                    curve.map == WeightMap::exp ? "any" : fmt::format("{:g}", curve.beta)};
    for (const double gamma : kShown)
      row.push_back(fmt::format("{:.4f} ({:.4f})", sparsity_of(curve.map, curve.beta, gamma),
                                curve.mean[index_of(results, gamma)]));
    row.push_back(fmt::format("{:.4f}", wide_limit(curve.map)));
    table.add_row(row);
  }
  return fmt::format(
      "Sparsity index S = E|a|/sqrt(E[a^2]) of weights f(s), s ~ N(beta, gamma^2): the formula and, in "
      "brackets,\nwhat the kernels find over {} keys, mean of {} sets\n\n{}\n{}",
      results.options.keys, results.options.key_sets, table.str(), closing_line(results));
}

}  // namespace isentropic::experiments::sparsity
