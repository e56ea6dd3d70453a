// Total and dual total correlation for every estimator, and their shuffled baselines.
#include "isentropic/information/multivariate.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/checks.hpp"
#include "base/random.hpp"
#include "information/distributions/validate.hpp"
#include "information/gaussian.hpp"
#include "information/neighbourhoods.hpp"
#include "information/scaling.hpp"
#include "information/symbols.hpp"

namespace isentropic::information {
namespace {

// All of them if `variable` is not below `count`.
std::vector<std::size_t> all_but(std::size_t variable, std::size_t count) {
  std::vector<std::size_t> out;
  for (std::size_t v = 0; v < count; ++v)
    if (v != variable) out.push_back(v);
  return out;
}

Table columns_of(const Table& samples, const std::vector<std::size_t>& columns) {
  Table out(samples.rows, columns.size());
  for (std::size_t r = 0; r < samples.rows; ++r)
    for (std::size_t c = 0; c < columns.size(); ++c) out(r, c) = samples(r, columns[c]);
  return out;
}

// Computes both from any entropy of sets of columns: TC = sum_t H(x_t) - H(x), DTC = sum_t H(x_-t) - (T - 1) H(x).
template <class Entropy>
Correlation from_entropies(std::size_t columns, const Entropy& entropy) {
  const double whole = entropy(all_but(columns, columns));
  Correlation out{-whole, -(static_cast<double>(columns) - 1) * whole};
  for (std::size_t t = 0; t < columns; ++t) {
    out.total += entropy({t});
    out.dual_total += entropy(all_but(t, columns));
  }
  return out;
}

Correlation correlation_of_symbols(const Table& samples, EntropyEstimator estimator) {
  std::vector<double> alphabet;
  for (std::size_t t = 0; t < samples.columns; ++t)
    alphabet.push_back(static_cast<double>(symbols_of(columns_of(samples, {t})).distinct));
  return from_entropies(samples.columns, [&](const std::vector<std::size_t>& columns) {
    double cells = 1;  // includes rows never seen
    for (std::size_t c : columns) cells *= alphabet[c];
    return entropy_with_alphabet(symbols_of(columns_of(samples, columns)).counts(), estimator, cells);
  });
}

Correlation gaussian_correlation(const Table& samples) {
  if (std::isinf(log_determinant(covariance_of(moderate(samples).samples))))
    throw Error("the covariance of the samples", "singular", "linearly independent columns, none of them constant");
  return from_entropies(samples.columns, [&](const std::vector<std::size_t>& columns) {
    return gaussian_entropy_from_samples(columns_of(samples, columns));
  });
}

// Volumes of all marginals are powers of the same side, so they cancel in TC and in DTC. Counts are the neighbours in
// each marginal and, last, those in all variables together: k, or more with ties.
Correlation neighbour_correlation(const Table& samples, const InformationOptions& options, Executor& executor) {
  require_neighbours(options.k, samples.rows);
  const std::size_t variables = samples.columns;
  const Table points = scaled("samples", samples, options.scaling);
  const std::vector<std::size_t> one_each(variables, 1);
  std::vector<std::vector<std::size_t>> single, others;
  for (std::size_t t = 0; t < variables; ++t) {
    single.push_back({t});
    others.push_back(all_but(t, variables));
  }
  const DigammaTable digamma(samples.rows);
  const bool ties = options.estimator == InformationEstimator::mesner_shalizi;
  std::vector<std::size_t> together(variables);
  std::iota(together.begin(), together.end(), std::size_t{0});
  // The mean of joint_weight digamma(in all variables) - sum over the marginals.
  const auto mean = [&](std::vector<std::vector<std::size_t>> marginals, double joint_weight) {
    if (ties) marginals.push_back(together);
    return mean_over_neighbourhoods(
        {points, one_each, std::move(marginals), options.k,
         ties ? Neighbourhood::closed_cube : Neighbourhood::open_cube},
        [&](const std::size_t* n) {
          double sum = joint_weight * digamma(ties ? n[variables] : static_cast<std::size_t>(options.k));
          for (std::size_t t = 0; t < variables; ++t) sum -= digamma(ties ? n[t] : n[t] + 1);
          return sum;
        },
        executor);
  };
  const double at_n = digamma(samples.rows), more = static_cast<double>(variables) - 1;
  return {more * at_n + mean(std::move(single), 1), at_n + mean(std::move(others), more)};
}

}  // namespace

Correlation estimate_correlation(const Table& samples, const InformationOptions& options, Executor& executor) {
  require_samples("samples", samples);
  require_at_least("the number of columns of samples", samples.columns, 2);
  const int bins = options.bins > 0 ? options.bins : usual_bins(samples.rows);
  switch (options.estimator) {
    case InformationEstimator::ksg1:
    case InformationEstimator::mesner_shalizi:
      return neighbour_correlation(samples, options, executor);
    case InformationEstimator::gaussian:
      return gaussian_correlation(samples);
    case InformationEstimator::binned:
      return correlation_of_symbols(binned(samples, bins, Binning::equal_width), options.entropy);
    case InformationEstimator::equal_mass:
      return correlation_of_symbols(binned(samples, bins, Binning::equal_mass), options.entropy);
    case InformationEstimator::discrete:
      return correlation_of_symbols(samples, options.entropy);
    case InformationEstimator::ksg2:
    case InformationEstimator::mixed:
      break;
  }
  throw Error("estimator", name(options.estimator) + ", for total correlation",
              "one of ksg1, mesner_shalizi, gaussian, binned, equal_mass, discrete");
}

Table with_resampled_positions(const Table& samples, std::uint64_t seed) {
  Random random(seed);
  Table out = samples;
  std::vector<double> column(samples.rows);
  for (std::size_t c = 0; c < samples.columns; ++c) {
    for (std::size_t r = 0; r < samples.rows; ++r) column[r] = samples(r, c);
    random.shuffle(&column);
    for (std::size_t r = 0; r < samples.rows; ++r) out(r, c) = column[r];
  }
  return out;
}

Table with_shuffled_order(const Table& samples, std::uint64_t seed) {
  Random random(seed);
  Table out = samples;
  for (std::size_t r = 0; r < samples.rows; ++r) {
    std::vector<double> row(samples.row(r).begin(), samples.row(r).end());
    random.shuffle(&row);
    std::copy(row.begin(), row.end(), out.row(r).begin());
  }
  return out;
}

CorrelationReport correlation_with_baselines(const Table& samples, const InformationOptions& options,
                                             std::uint64_t seed, Executor& executor) {
  return {estimate_correlation(samples, options, executor),
          estimate_correlation(with_resampled_positions(samples, seed), options, executor),
          estimate_correlation(with_shuffled_order(samples, seed), options, executor)};
}

double order_information(const Table& samples) {
  require_samples("samples", samples);
  Table sorted = samples;
  double arrangements = 0;  // mean log of T! / prod (times a value occurs)!
  for (std::size_t r = 0; r < samples.rows; ++r) {
    const auto row = sorted.row(r);
    std::sort(row.begin(), row.end());
    arrangements += std::lgamma(static_cast<double>(row.size()) + 1);
    for (std::size_t begin = 0, end = 0; begin < row.size(); begin = end) {
      while (end < row.size() && row[end] == row[begin]) ++end;
      arrangements -= std::lgamma(static_cast<double>(end - begin) + 1);
    }
  }
  return arrangements / static_cast<double>(samples.rows) + entropy_from_symbols(sorted, EntropyEstimator::plug_in) -
         entropy_from_symbols(samples, EntropyEstimator::plug_in);
}

DataProcessing data_processing(const Table& x, const Table& z, const Table& y, const InformationOptions& options,
                               Executor& executor) {
  return {estimate_information(x, z, options, executor), estimate_information(z, y, options, executor),
          estimate_information(x, y, options, executor), estimate_information(x, y, z, options, executor)};
}

}  // namespace isentropic::information
