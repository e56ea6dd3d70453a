// Mutual information of symbols, either given or made by binning columns.
#include <algorithm>
#include <cmath>

#include "base/checks.hpp"
#include "information/distributions/intervals.hpp"
#include "information/distributions/validate.hpp"
#include "information/scaling.hpp"
#include "information/symbols.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/information/mutual_information.hpp"

namespace isentropic::information {
namespace {

double real(std::size_t n) { return static_cast<double>(n); }

// The exact information of the joint table shrunk towards uniform: marginals and joint stay consistent, and the result
// is non-negative. Only the cells seen are stored; all others are lambda / cells.
double james_stein_information(const Symbols& x, const Symbols& y, const Symbols& both) {
  const double total = real(x.of_row.size()), cells = real(x.distinct) * real(y.distinct);
  const std::vector<std::int64_t> nx = x.counts(), ny = y.counts(), nxy = both.counts();
  double squares = 0;
  for (std::int64_t n : nxy) squares += std::pow(static_cast<double>(n) / total, 2);
  const double lambda = shrinkage(squares, total, cells);
  const auto entropy_of = [&](const std::vector<std::int64_t>& counts, double alphabet) {
    const auto term = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
    double sum = (alphabet - real(counts.size())) * term(lambda / alphabet);
    for (std::int64_t n : counts) sum += term(lambda / alphabet + (1 - lambda) * static_cast<double>(n) / total);
    return sum;
  };
  return entropy_of(nx, real(x.distinct)) + entropy_of(ny, real(y.distinct)) - entropy_of(nxy, cells);
}

std::vector<double> interval_numbers(const std::vector<double>& column, int bins, Binning binning) {
  if (binning == Binning::equal_mass) return equal_mass_intervals(column, bins);
  std::vector<double> out(column.size());
  const auto [low, high] = std::minmax_element(column.begin(), column.end());
  const double start = *low, width = *high - *low;
  for (std::size_t i = 0; i < column.size(); ++i)
    out[i] = width > 0 ? std::min(std::floor((column[i] - start) / width * bins), bins - 1.0) : 0;
  return out;
}

}  // namespace

double information_of_symbols(const Symbols& x, const Symbols& y, EntropyEstimator estimator) {
  const Symbols both = joined(x, y);
  if (estimator == EntropyEstimator::james_stein) return james_stein_information(x, y, both);
  return entropy_with_alphabet(x.counts(), estimator, real(x.distinct)) +
         entropy_with_alphabet(y.counts(), estimator, real(y.distinct)) -
         entropy_with_alphabet(both.counts(), estimator, real(x.distinct) * real(y.distinct));
}

double information_of_symbols(const Symbols& x, const Symbols& y, const Symbols& z, EntropyEstimator estimator) {
  const double nx = real(x.distinct), ny = real(y.distinct), nz = real(z.distinct);
  const Symbols xz = joined(x, z), yz = joined(y, z);
  return entropy_with_alphabet(xz.counts(), estimator, nx * nz) +
         entropy_with_alphabet(yz.counts(), estimator, ny * nz) -
         entropy_with_alphabet(joined(xz, y).counts(), estimator, nx * ny * nz) -
         entropy_with_alphabet(z.counts(), estimator, nz);
}

double mutual_information_from_counts(const Table& counts, EntropyEstimator estimator) {
  require_samples("counts", counts);
  double total = 0;
  for (std::size_t i = 0; i < counts.values.size(); ++i) {
    const double n = counts.values[i];
    if (n < 0 || n != std::floor(n) || n > 0x1p53)
      throw Error("counts(" + std::to_string(i / counts.columns) + ", " + std::to_string(i % counts.columns) + ")", n,
                  "a non-negative whole number");
    total += n;
  }
  if (total == 0) throw Error("the sum of counts", "0", "at least one observation");
  if (total > 0x1p53) throw Error("the sum of counts", "more than 2^53", "a sum that a double holds exactly");
  const auto whole = [](const std::vector<double>& v) { return std::vector<std::int64_t>(v.begin(), v.end()); };
  if (estimator == EntropyEstimator::james_stein) {
    double squares = 0;
    for (double n : counts.values) squares += (n / total) * (n / total);
    const double cells = real(counts.values.size()), lambda = shrinkage(squares, total, cells);
    Table shrunk = counts;
    for (double& p : shrunk.values) p = lambda / cells + (1 - lambda) * p / total;
    return mutual_information(shrunk);
  }
  return entropy_from_counts(whole(row_marginal(counts)), estimator) +
         entropy_from_counts(whole(column_marginal(counts)), estimator) -
         entropy_from_counts(whole(counts.values), estimator);
}

double discrete_mutual_information(const Table& x, const Table& y, EntropyEstimator estimator) {
  require_samples("x", x);
  require_samples("y", y);
  require_rows("y", y, x.rows);
  return information_of_symbols(symbols_of(x), symbols_of(y), estimator);
}

Table binned(const Table& samples, int bins, Binning binning) {
  require_samples("samples", samples);
  require_at_least("bins", bins, 1);
  const Table source = moderate(samples).samples;  // a width may overflow
  Table out(samples.rows, samples.columns);
  std::vector<double> column(samples.rows);
  for (std::size_t c = 0; c < samples.columns; ++c) {
    for (std::size_t r = 0; r < samples.rows; ++r) column[r] = source(r, c);
    const std::vector<double> numbers = interval_numbers(column, bins, binning);
    for (std::size_t r = 0; r < samples.rows; ++r) out(r, c) = numbers[r];
  }
  return out;
}

int usual_bins(std::size_t samples) { return std::max(2, static_cast<int>(std::lround(std::cbrt(real(samples))))); }

double binned_mutual_information(const Table& x, const Table& y, int bins, Binning binning,
                                 EntropyEstimator estimator) {
  if (bins == 0) bins = usual_bins(x.rows);
  return discrete_mutual_information(binned(x, bins, binning), binned(y, bins, binning), estimator);
}

}  // namespace isentropic::information
