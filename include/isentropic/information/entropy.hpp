// Entropy from samples: of counted symbols, and of points in space. Nats.
//
// Counts n_1 ... n_K, N their sum, K the size of the alphabet (including cells never seen), p_i = n_i / N:
//
//   plug_in       -sum p_i log p_i                                   too small by about (K - 1) / (2 N)
//   miller_madow  plug-in + (cells seen - 1) / (2 N)                 Miller 1955
//   james_stein   plug-in of l / K + (1 - l) p_i,                    Hausser & Strimmer 2009
//                 l = (1 - sum p_i^2) / ((N - 1) sum (1/K - p_i)^2), cut to [0, 1]
//   grassberger   log N - (1/N) sum n_i G(n_i),                      Grassberger 2003
//                 G(n) = digamma(n) + (-1)^n (digamma((n+1)/2) - digamma(n/2)) / 2
//   chao_shen     -sum q_i log q_i / (1 - (1 - q_i)^N),              Chao & Shen 2003
//                 q_i = C p_i, C = 1 - (cells seen once) / N
//   nsb           posterior mean under the prior whose entropy is    Nemenman, Shafee & Bialek 2002
//                 nearly uniform on [0, log K]
//
// james_stein and nsb need K; the others ignore cells without counts. By hand: counts (1, 1): plug-in log 2,
// Miller-Madow log 2 + 1/4, Grassberger log 2 - G(1) = 2 log 2 + 0.5772...
//
// Differential entropies may be negative (a uniform variable on [0, 1/2] has -log 2); nothing is clamped.
// Error: no counts, a negative count, K smaller than the number of counts, k outside [1, N - 1], non-finite values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isentropic/executor.hpp"
#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

enum class EntropyEstimator { plug_in, miller_madow, james_stein, grassberger, chao_shen, nsb };

ISENTROPIC_API const std::vector<EntropyEstimator>& entropy_estimators();
ISENTROPIC_API std::string name(EntropyEstimator estimator);
// Error lists the names.
ISENTROPIC_API EntropyEstimator entropy_estimator_named(const std::string& name);

// `cells`: K; 0 means the number of counts.
ISENTROPIC_API double entropy_from_counts(std::span<const std::int64_t> counts,
                                          EntropyEstimator estimator = EntropyEstimator::miller_madow,
                                          std::size_t cells = 0);

// Every distinct row of `samples` is a symbol; K is the number of distinct rows.
ISENTROPIC_API double entropy_from_symbols(const Table& samples,
                                           EntropyEstimator estimator = EntropyEstimator::miller_madow);

// ---- Differential entropy of points, one per row, d columns ----

// log det(2 pi e C) / 2; a singular covariance gives -inf, one that is not symmetric or not positive semidefinite an
// Error.
ISENTROPIC_API double gaussian_entropy(const Table& covariance);
// With the covariance of the samples (divisor N - 1).
ISENTROPIC_API double gaussian_entropy_from_samples(const Table& samples);

// Kozachenko & Leonenko 1987, maximum norm: digamma(N) - digamma(k) + (d/N) sum_i log(2 r_i), r_i the distance from
// point i to its k-th neighbour. Equal points give log 0 = -inf. N log N time in low dimension.
ISENTROPIC_API double kozachenko_leonenko_entropy(const Table& samples, int k = 3,
                                                  Executor& executor = default_executor());

}  // namespace isentropic::information
