// Entropy estimators from counts, each with its own correction of the small-sample bias.
#include "isentropic/information/entropy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/checks.hpp"
#include "information/distributions/validate.hpp"
#include "information/nsb.hpp"
#include "information/symbols.hpp"

namespace isentropic::information {
namespace {

using Counts = std::vector<std::int64_t>;  // positive ones only

double real(std::int64_t n) { return static_cast<double>(n); }

double plug_in(const Counts& counts, double total) {
  double sum = 0;
  for (std::int64_t n : counts) sum -= real(n) / total * std::log(real(n) / total);
  return sum;
}

double james_stein(const Counts& counts, double total, double cells) {
  double squares = 0;
  for (std::int64_t n : counts) squares += real(n) / total * (real(n) / total);
  const double lambda = shrinkage(squares, total, cells);
  const auto term = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
  double sum = (cells - static_cast<double>(counts.size())) * term(lambda / cells);
  for (std::int64_t n : counts) sum += term(lambda / cells + (1 - lambda) * real(n) / total);
  return sum;
}

// G(1) = G(0) = -gamma - log 2, G(2n + 1) = G(2n), G(2n + 2) = G(2n) + 2 / (2n + 1): the recurrence behind the formula,
// with its limit G(2n) = log(2n) + 1/(24 n^2) where n is large (the last term is below 2e-13 there).
double grassberger_g(std::int64_t n) {
  constexpr std::int64_t kLarge = 1 << 20;
  if (n >= kLarge) return std::log(real(n - n % 2));
  double sum = -std::numbers::egamma - std::numbers::ln2;
  for (std::int64_t even = n - n % 2; even >= 2; even -= 2) sum += 2 / real(even - 1);
  return sum;
}

double grassberger(Counts counts, double total) {
  std::sort(counts.begin(), counts.end());
  double sum = 0, g = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i == 0 || counts[i] != counts[i - 1]) g = grassberger_g(counts[i]);
    sum += real(counts[i]) * g;
  }
  return std::log(total) - sum / total;
}

double chao_shen(const Counts& counts, double total) {
  double once = real(std::count(counts.begin(), counts.end(), 1));
  if (once == total) once = total - 1;  // otherwise the coverage would be 0
  const double coverage = 1 - once / total;
  double sum = 0;
  for (std::int64_t n : counts) {
    const double q = coverage * real(n) / total;
    if (q <= 0) continue;
    const double seen = q < 1 ? -std::expm1(total * std::log1p(-q)) : 1;
    sum -= q * std::log(q) / seen;
  }
  return sum;
}

}  // namespace

const std::vector<EntropyEstimator>& entropy_estimators() {
  static const std::vector<EntropyEstimator> all = {EntropyEstimator::plug_in,     EntropyEstimator::miller_madow,
                                                    EntropyEstimator::james_stein, EntropyEstimator::grassberger,
                                                    EntropyEstimator::chao_shen,   EntropyEstimator::nsb};
  return all;
}

std::string name(EntropyEstimator estimator) {
  switch (estimator) {
    case EntropyEstimator::plug_in:
      return "plug_in";
    case EntropyEstimator::miller_madow:
      return "miller_madow";
    case EntropyEstimator::james_stein:
      return "james_stein";
    case EntropyEstimator::grassberger:
      return "grassberger";
    case EntropyEstimator::chao_shen:
      return "chao_shen";
    case EntropyEstimator::nsb:
      return "nsb";
  }
  return {};
}

EntropyEstimator entropy_estimator_named(const std::string& wanted) {
  std::string names;
  for (EntropyEstimator estimator : entropy_estimators()) {
    if (name(estimator) == wanted) return estimator;
    names += (names.empty() ? "" : ", ") + name(estimator);
  }
  throw Error("entropy estimator", "'" + wanted + "'", "one of " + names);
}

double shrinkage(double squares, double total, double cells) {
  const double distance = squares - 1 / cells;  // sum over all cells of (1/K - p_i)^2
  if (total <= 1 || distance <= 0) return 1;
  return std::clamp((1 - squares) / ((total - 1) * distance), 0.0, 1.0);
}

double entropy_with_alphabet(const Counts& all_counts, EntropyEstimator estimator, double cells) {
  Counts counts;
  for (std::int64_t n : all_counts)
    if (n > 0) counts.push_back(n);
  const double total = real(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  constexpr double kMostCells = 1e300;
  const bool needs_cells = estimator == EntropyEstimator::james_stein || estimator == EntropyEstimator::nsb;
  if (needs_cells && !(cells <= kMostCells))
    throw Error("the alphabet", "larger than 1e300 cells", "fewer variables for " + name(estimator));
  switch (estimator) {
    case EntropyEstimator::plug_in:
      return plug_in(counts, total);
    case EntropyEstimator::miller_madow:
      return plug_in(counts, total) + real(static_cast<std::int64_t>(counts.size()) - 1) / (2 * total);
    case EntropyEstimator::james_stein:
      return james_stein(counts, total, cells);
    case EntropyEstimator::grassberger:
      return grassberger(counts, total);
    case EntropyEstimator::chao_shen:
      return chao_shen(counts, total);
    case EntropyEstimator::nsb:
      return nsb_entropy(counts, cells);
  }
  return 0;
}

double entropy_from_counts(std::span<const std::int64_t> counts, EntropyEstimator estimator, std::size_t cells) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0) throw Error("counts[" + std::to_string(i) + "]", std::to_string(counts[i]), "at least 0");
    if (counts[i] > std::numeric_limits<std::int64_t>::max() - total)
      throw Error("the sum of counts", "more than 2^63 - 1", "a sum that fits in an int64");
    total += counts[i];
  }
  if (total == 0) throw Error("the sum of counts", "0", "at least one observation");
  if (cells == 0) cells = counts.size();
  if (cells < counts.size())
    throw Error("cells", std::to_string(cells), "at least the " + std::to_string(counts.size()) + " counts");
  return entropy_with_alphabet({counts.begin(), counts.end()}, estimator, static_cast<double>(cells));
}

double entropy_from_symbols(const Table& samples, EntropyEstimator estimator) {
  require_samples("samples", samples);
  return entropy_from_counts(symbols_of(samples).counts(), estimator);
}

}  // namespace isentropic::information
