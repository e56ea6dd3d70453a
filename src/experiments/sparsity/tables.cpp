// The sparsity experiment as text tables for the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/sparsity/present.hpp"
#include "isentropic/theory/sparsity.hpp"
#include "report/text_table.hpp"

namespace isentropic::experiments::sparsity {
namespace {

using report::TextTable;

constexpr double kShownGammas[] = {0.25, 0.5, 1, 2, 5};
constexpr std::int64_t kShownCounts[] = {1, 4, 16, 64, 128};

template <class List, class Value>
std::size_t index_of(const List& list, Value value) {
  return static_cast<std::size_t>(std::ranges::find(list, value) - std::begin(list));
}

std::string both(double formula, double measured) { return fmt::format("{:.4f} ({:.4f})", formula, measured); }

std::vector<std::string> header(std::vector<std::string> first, const std::string& last) {
  for (const double gamma : kShownGammas) first.push_back(fmt::format("gamma = {:g}", gamma));
  first.push_back(last);
  return first;
}

// The largest distance from the formulas, omitting gammas at which that of exp would need more keys than there are.
double largest_distance(const Results& results) {
  double worst = 0;
  for (const Curve& curve : results.curves) {
    for (std::size_t i = 0; i < results.gammas.size(); ++i) {
      if (curve.map == WeightMap::exp && results.gammas[i] > 0.7 * results.exp_breaks_at()) continue;
      const double formula = sparsity_of(curve.map, curve.beta, results.gammas[i]);
      worst = std::max(worst, std::abs(curve.measured.mean[i] - formula));
    }
  }
  return worst;
}

std::string maps_table(const Results& results) {
  TextTable table(header({"map", "beta"}, "limit"));
  for (std::size_t c = 0; c < results.curves.size(); ++c) {
    const Curve& curve = results.curves[c];
    if (c > 0 && curve.map != results.curves[c - 1].map) table.add_rule();
    std::vector<std::string> row = {label(curve.map),
                                    curve.map == WeightMap::exp ? "any" : fmt::format("{:g}", curve.beta)};
    for (const double gamma : kShownGammas)
      row.push_back(
          both(sparsity_of(curve.map, curve.beta, gamma), curve.measured.mean[index_of(results.gammas, gamma)]));
    row.push_back(fmt::format("{:.4f}", wide_limit(curve.map)));
    table.add_row(row);
  }
  return fmt::format(
      "Sparsity index S = E|a|/sqrt(E[a^2]) of weights f(s), s ~ N(beta, gamma^2): the formula and, in "
      "brackets,\nwhat the kernels find over {} keys, mean of {} sets\n\n{}\n"
      "Largest distance from the formulas: {:.4f} (exp: gamma up to {:.1f}). Over {} keys S is at least {:.4f}, or 0 "
      "where\nno key has weight.\n",
      results.options.keys, results.options.key_sets, table.str(), largest_distance(results),
      0.7 * results.exp_breaks_at(), results.options.keys, 1 / std::sqrt(static_cast<double>(results.options.keys)));
}

std::string features_table(const Results& results) {
  std::vector<std::string> head = {"feature", "of the query"};
  for (const std::int64_t d : kShownCounts) head.push_back(fmt::format("d = {}", d));
  TextTable table(head);
  for (const FeatureCurve& curve : results.features) {
    std::vector<std::string> row = {label(curve.feature), curve.query == QueryShape::equal ? "all equal" : "one alone"};
    for (const std::int64_t d : kShownCounts)
      row.push_back(both(curve.formula(d), curve.measured.mean[index_of(kFeatureCounts, d)]));
    table.add_row(row);
  }
  return fmt::format("S of linear attention over d independent features of Gaussian keys, k ~ N(0, I)\n\n{}",
                     table.str());
}

std::string taylor_table(const Results& results) {
  TextTable table(header({"p", "features at d = 64"}, "floor"));
  for (const TaylorCurve& curve : results.taylor) {
    std::vector<std::string> row = {std::to_string(curve.degree),
                                    fmt::format("{:.4g}", theory::taylor_features(64, curve.degree))};
    for (const double gamma : kShownGammas)
      row.push_back(both(curve.formula(gamma), curve.measured.mean[index_of(results.gammas, gamma)]));
    row.push_back(fmt::format("{:.4f}", curve.floor()));
    table.add_row(row);
  }
  return fmt::format("S of exp cut off after degree p, linear attention over C(d + p, p) features\n\n{}", table.str());
}

std::string decay_table(const Results& results) {
  std::vector<std::string> head = {"lambda"};
  for (const std::int64_t n : kDecayLengths) head.push_back(fmt::format("n = {}", n));
  head.push_back("most keys");
  TextTable table(head);
  double worst = 0;
  for (const DecayCurve& curve : results.decay) {
    std::vector<std::string> row = {fmt::format("{:g}", curve.lambda)};
    for (std::size_t i = 0; i < std::size(kDecayLengths); ++i) {
      row.push_back(fmt::format("{:.4f} ({:.0f})", curve.measured[i], curve.participation[i]));
      worst = std::max(worst, std::abs(curve.measured[i] - curve.formula(static_cast<double>(kDecayLengths[i]))));
    }
    row.push_back(fmt::format("{:.0f}", curve.most_keys()));
    table.add_row(row);
  }
  return fmt::format(
      "S of weights lambda^(n-j) and, in brackets, the keys that share the mass, n S^2; most keys: (1 + lambda)/(1 - "
      "lambda)\n\n{}\nLargest distance from the formula: {:.1g}.\n",
      table.str(), worst);
}

}  // namespace

std::string tables(const Results& results) {
  return maps_table(results) + "\n" + features_table(results) + "\n" + taylor_table(results) + "\n" +
         decay_table(results);
}

}  // namespace isentropic::experiments::sparsity
