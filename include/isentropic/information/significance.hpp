// Is an estimate more than chance, and how far off may it be?
//
// Permutation: rows of x are shuffled against y, which destroys the dependence but keeps both marginals; the estimator
// is rerun on every surrogate. p = (1 + surrogates at least as large as the estimate) / (1 + surrogates), so p is never
// 0. Given z, x is exchanged only between points that are neighbours in z (Runge 2018) or tie in z, because a free
// shuffle would also destroy the dependence of x on z.
//
// Interval: half-samples without replacement (the delete-half jackknife; Shao & Wu 1989). Their spread about their own
// mean is, for a statistic whose variance falls as 1/N, that of the estimate on all N. The plain bootstrap draws points
// repeatedly; such ties are neighbours at distance zero and ruin every nearest-neighbour estimator. The interval covers
// sampling noise, not the estimator's bias.
//
// By hand: 99 permutations, none as large as the estimate: p = 0.01.
#pragma once

#include <cstdint>
#include <functional>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

// An estimate from x, y and z, rows observed together; z may have no columns.
using InformationMeasure = std::function<double(const Table& x, const Table& y, const Table& z)>;

struct ISENTROPIC_API Significance {
  double estimate = 0;
  double p_value = 1;
  double surrogate_mean = 0, surrogate_deviation = 0;
  int permutations = 0;
};

// Error: permutations < 1, fewer than 2 rows. progress receives the fraction of the work done.
ISENTROPIC_API Significance permutation_significance(const Table& x, const Table& y, const Table& z,
                                                     const InformationMeasure& measure, int permutations,
                                                     std::uint64_t seed,
                                                     const std::function<void(double)>& progress = {});

struct ISENTROPIC_API Interval {
  double estimate = 0, deviation = 0, low = 0, high = 0;
  int halves = 0;
};

// estimate -+ z(level) * deviation. Error: halves < 2, level outside (0, 1), fewer than 4 rows.
ISENTROPIC_API Interval half_sample_interval(const Table& x, const Table& y, const Table& z,
                                             const InformationMeasure& measure, int halves, double level,
                                             std::uint64_t seed, const std::function<void(double)>& progress = {});

}  // namespace isentropic::information
