// The subjects of source 004, one file each, and their shared instruments.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "isentropic/score_map.hpp"
#include "isentropic/theory/sparsity.hpp"
#include "ledger/claim.hpp"

namespace isentropic::ledger::concentration {

std::vector<Claim> rank_claims();                // 004-0, 0b
std::vector<Claim> index_claims();               // 1, 1b
std::vector<Claim> exponential_claims();         // 2, 3, 4, 5...
std::vector<Claim> relu_squared_claims();        // 6...
std::vector<Claim> identity_claims();            // 7...
std::vector<Claim> features_claims();            // 8..., 9 to 9c
std::vector<Claim> infinite_dimension_claims();  // 9d
std::vector<Claim> decay_claims();               // 10, 11..., 12
std::vector<Claim> conclusion_claims();          // 13

// ---- S by methods that do not use the closed forms ----

// Simpson's rule over the Gaussian law of the scores, split at their sign change. Accurate to about 1e-10.
using Map = std::function<double(double)>;
double sparsity_by_quadrature(const Map& map, GaussianScores scores);
// For exp only: the log-partitions of s and of 2 s over a grid of scores whose Gaussian weights are added as scores, S
// = exp(L(s) - L(2s) / 2). Accurate to about 1e-14.
double sparsity_by_partitions(GaussianScores scores);
// n scores drawn from the law and mapped by the kernel; averaged over `draws` such draws.
Estimate sampled_sparsity(Check& check, GaussianScores scores, const ScoreMap& map, std::size_t n, std::int64_t draws);

// Linear attention as the plain product: no features, no normaliser.
inline const ScoreMap kProduct = ScoreMap::linear(Feature::identity, Normaliser::none);

inline double relu_squared(double x) { return x > 0 ? x * x : 0; }

// Evenly spaced numbers from low to high, both included.
std::vector<double> steps(double low, double high, int count);

}  // namespace isentropic::ledger::concentration
