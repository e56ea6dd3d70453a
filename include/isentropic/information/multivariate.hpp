// Dependence among many variables, from samples: one observation per row, one variable per column. Nats.
//
//   TC   = sum_t H(x_t) - H(x)                    total correlation = KL(P || product of the marginals)
//   DTC  = H(x) - sum_t H(x_t | the others)       dual total correlation;  TC + DTC = sum_t I(x_t; the others)
//
// Two different shuffles serve as baselines:
//   resampled positions: every column is permuted independently across the data set: the product of the marginals;
//   shuffled order:      the entries of every row are permuted: the exchangeable mixture (1/T!) sum_pi P(x_pi).
// The constant row (0, 1) has TC 0 but KL log 2 to its shuffled order; two equal coin tosses have TC log 2 but KL 0 to
// their shuffled order.
//
// Data processing: I(x;y) <= I(x;z) + I(x;y|z) always, and the slack I(x;y|z) is 0 exactly when x -> z -> y is a chain.
#pragma once

#include <cstdint>

#include "isentropic/export.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

struct ISENTROPIC_API Correlation {
  double total = 0, dual_total = 0;
};

// discrete, binned, equal_mass: by entropies of symbols; gaussian: by log-determinants; ksg1: Kraskov's algorithm 1 for
// many variables and the same neighbourhoods for DTC = digamma(N) + (T - 1) digamma(k) - sum_t <digamma(n_-t + 1)>;
// mesner_shalizi: the same with ties counted, k_i for k and n for n + 1.
// Error: ksg2 and mixed, fewer than 2 columns.
ISENTROPIC_API Correlation estimate_correlation(const Table& samples, const InformationOptions& options = {},
                                                Executor& executor = default_executor());

ISENTROPIC_API Table with_resampled_positions(const Table& samples, std::uint64_t seed);
ISENTROPIC_API Table with_shuffled_order(const Table& samples, std::uint64_t seed);

struct ISENTROPIC_API CorrelationReport {
  Correlation observed;
  Correlation resampled_positions;  // the estimate where the truth is 0: the estimator's bias
  Correlation shuffled_order;       // dependence that survives when the order is lost
};
ISENTROPIC_API CorrelationReport correlation_with_baselines(const Table& samples, const InformationOptions& options,
                                                            std::uint64_t seed,
                                                            Executor& executor = default_executor());

// KL(P || its shuffled order) of the empirical distribution of symbols, exactly: the information in the order.
//   E[log(distinct arrangements of the row)] + H(row as a multiset) - H(row)
ISENTROPIC_API double order_information(const Table& samples);

struct ISENTROPIC_API DataProcessing {
  double x_z = 0, z_y = 0, x_y = 0;  // I(x;z), I(z;y), I(x;y)
  double slack = 0;                  // I(x;y|z), 0 for a chain x -> z -> y
  // I(x;z) + I(x;y|z) - I(x;y) = I(x;z|y): negative only through estimation error.
  double margin() const { return x_z + slack - x_y; }
  // I(x;y) <= min(I(x;z), I(z;y)) within `tolerance`, as a chain guarantees.
  bool holds(double tolerance) const { return x_y <= x_z + tolerance && x_y <= z_y + tolerance; }
};
ISENTROPIC_API DataProcessing data_processing(const Table& x, const Table& z, const Table& y,
                                              const InformationOptions& options = {},
                                              Executor& executor = default_executor());

}  // namespace isentropic::information
