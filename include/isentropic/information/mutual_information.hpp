// Mutual information from samples. Nats. One observation per row; x, y and z have the same number of rows, N.
//
//   ksg1      digamma(k) + digamma(N) - <digamma(n_x + 1) + digamma(n_y + 1)>          Kraskov et al. 2004, eq. 8
//             n_x, n_y: points strictly nearer, in x or in y alone, than the k-th neighbour in (x, y), maximum norm
//   ksg2      digamma(k) - 1/k + digamma(N) - <digamma(n_x) + digamma(n_y)>            ibid., eq. 9
//             n_x, n_y: points within the smallest rectangle around the k neighbours
//   gaussian  (log det C_x + log det C_y - log det C) / 2                              exact for Gaussians only
//   binned    discrete, after cutting every column into intervals of equal width or of equal mass
//   discrete  H(x) + H(y) - H(x, y), every distinct row a symbol
//   mixed     digamma(N) + <digamma(k_i) - digamma(N_i) - digamma(m_i)>, x symbols, y points     Ross 2014
//             k_i, m_i: points with the same symbol, and all points, as near as the k-th with the same symbol
//   mesner_shalizi
//             digamma(N) + <digamma(k_i) - digamma(n_x) - digamma(n_y)>                Mesner & Shalizi 2020
//             k_i, n_x, n_y: points as near as the k-th neighbour, in (x, y), in x, in y. ksg1 counts points that are
//             strictly nearer, which are too few where values repeat: integers, rounded numbers, columns full of zeros
//
// Given z:  ksg1: digamma(k) - <digamma(n_xz + 1) + digamma(n_yz + 1) - digamma(n_z + 1)>        Frenzel & Pompe 2007
//           mesner_shalizi: <digamma(k_i) - digamma(n_xz) - digamma(n_yz) + digamma(n_z)>
//           gaussian by log-determinants; discrete and binned by H(x,z) + H(y,z) - H(x,y,z) - H(z).
//           ksg2 and mixed have none: the rectangle form of ksg2 is too high by .03 (N = 5000, three Gaussians).
//
// Estimates are returned unclamped: for independent variables about half of them are negative.
// By hand: y = x on two equally likely symbols: discrete plug-in log 2. Correlation .75: gaussian
// -log(1 - .75^2) / 2 = 0.413339.
//
// Where they fail: neighbour estimates cannot exceed about log N nats and are low in high dimension; ksg1 and ksg2
// break down where values repeat (off by nats for two columns of small integers); gaussian sees only linear dependence;
// binned and discrete are too high by about (cells - 1)^2 / (2 N). information_warnings() reports these cases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isentropic/executor.hpp"
#include "isentropic/export.hpp"
#include "isentropic/information/entropy.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

// ---- Individual estimators ----

enum class KsgAlgorithm { one, two };
// Columns may first be standardised to mean 0 and variance 1, since the maximum norm compares distances in x with those
// in y.
enum class Scaling { none, standardised };

struct ISENTROPIC_API KsgOptions {
  int k = 3;
  KsgAlgorithm algorithm = KsgAlgorithm::one;
  Scaling scaling = Scaling::standardised;
};

// Time near N log N (low dimension), memory linear in N.
// Error: k outside [1, N - 1], values not finite, a constant column with Scaling::standardised.
ISENTROPIC_API double ksg_mutual_information(const Table& x, const Table& y, const KsgOptions& options = {},
                                             Executor& executor = default_executor());
// Algorithm one only; Error for two.
ISENTROPIC_API double ksg_conditional_mutual_information(const Table& x, const Table& y, const Table& z,
                                                         const KsgOptions& options = {},
                                                         Executor& executor = default_executor());

// x: distinct rows are symbols. A symbol that occurs only once has no neighbour and is ignored, as in Ross's paper.
ISENTROPIC_API double mixed_mutual_information(const Table& x, const Table& y, int k = 3,
                                               Scaling scaling = Scaling::standardised,
                                               Executor& executor = default_executor());

// I(x; y), or I(x; y | z) if z has columns. Values may repeat in any of them, and distances may tie.
ISENTROPIC_API double mesner_shalizi_mutual_information(const Table& x, const Table& y, const Table& z = {}, int k = 3,
                                                        Scaling scaling = Scaling::standardised,
                                                        Executor& executor = default_executor());

// Covariance of (x, y), x the first `x_columns`. +inf if (x, y) is singular but x and y are not.
ISENTROPIC_API double gaussian_mutual_information(const Table& covariance, std::size_t x_columns);
ISENTROPIC_API double gaussian_mutual_information_from_samples(const Table& x, const Table& y);

// Contingency table of whole numbers, x along the rows. james_stein shrinks the joint table; the others take the
// difference of three estimated entropies, K of the joint being rows x columns.
ISENTROPIC_API double mutual_information_from_counts(const Table& counts,
                                                     EntropyEstimator estimator = EntropyEstimator::miller_madow);
ISENTROPIC_API double discrete_mutual_information(const Table& x, const Table& y,
                                                  EntropyEstimator estimator = EntropyEstimator::miller_madow);

enum class Binning { equal_width, equal_mass };

// The bin index, 0 ... bins - 1, of every value of every column.
ISENTROPIC_API Table binned(const Table& samples, int bins, Binning binning);
// About the cube root of N, at least 2.
ISENTROPIC_API int usual_bins(std::size_t samples);
// bins = 0: usual_bins(N).
ISENTROPIC_API double binned_mutual_information(const Table& x, const Table& y, int bins = 0,
                                                Binning binning = Binning::equal_width,
                                                EntropyEstimator estimator = EntropyEstimator::miller_madow);

// ---- One entry point for all, used by the command `isentropic mi` ----

enum class InformationEstimator { ksg1, ksg2, gaussian, binned, equal_mass, discrete, mixed, mesner_shalizi };

ISENTROPIC_API const std::vector<InformationEstimator>& information_estimators();
ISENTROPIC_API std::string name(InformationEstimator estimator);
// Error lists the names.
ISENTROPIC_API InformationEstimator information_estimator_named(const std::string& name);

struct ISENTROPIC_API InformationOptions {
  InformationEstimator estimator = InformationEstimator::ksg1;
  int k = 3;                                                  // ksg1, ksg2, mixed, mesner_shalizi
  Scaling scaling = Scaling::standardised;                    // ksg1, ksg2, mixed, mesner_shalizi
  int bins = 0;                                               // binned, equal_mass; 0: usual_bins(N)
  EntropyEstimator entropy = EntropyEstimator::miller_madow;  // discrete, binned, equal_mass
};

// I(x; y); `mixed` treats the one with fewer distinct rows as the symbol.
ISENTROPIC_API double estimate_information(const Table& x, const Table& y, const InformationOptions& options = {},
                                           Executor& executor = default_executor());
// I(x; y | z), or I(x; y) if z has no columns. Error for ksg2 and mixed, which have no conditional form.
ISENTROPIC_API double estimate_information(const Table& x, const Table& y, const Table& z,
                                           const InformationOptions& options = {},
                                           Executor& executor = default_executor());

// The estimator that suits the samples. A variable counts as symbols when it has at most sqrt(N) distinct rows, and as
// tied when in one of its columns more than 5% of the values occur more than once. Both symbols: discrete; one: mixed;
// none: mesner_shalizi if either is tied, otherwise ksg1. With z, all symbols: discrete; any tied: mesner_shalizi;
// otherwise ksg1.
ISENTROPIC_API InformationEstimator suitable_estimator(const Table& x, const Table& y, const Table& z = {});

// Reasons to distrust `estimate` of I(x; y | z), one sentence each; empty when none is known.
ISENTROPIC_API std::vector<std::string> information_warnings(const Table& x, const Table& y, const Table& z,
                                                             const InformationOptions& options, double estimate);

// Columns side by side: (x, y). Both must have the same number of rows, unless one of them has no columns.
ISENTROPIC_API Table beside(const Table& x, const Table& y);

}  // namespace isentropic::information
