// The sparsity index of attention weights, measured by the kernels in float64 at scale 1.
#pragma once

#include <span>

#include "isentropic/information/table.hpp"
#include "isentropic/score_map.hpp"

namespace isentropic::experiments::sparsity {

struct Concentration {
  double sparsity = 0;       // S = E|a| / sqrt(E[a^2])
  double participation = 0;  // n S^2: the effective number of keys
};

// One query [d] over keys [n, d].
Concentration measure(std::span<const double> query, const information::Table& keys, const ScoreMap& map);
// Uses the scores directly: keys of one coordinate under the query 1.
Concentration measure(std::span<const double> scores, const ScoreMap& map);
// Weights lambda^(n - j) of the last of n positions.
Concentration measure_decay(double lambda, std::int64_t n);

}  // namespace isentropic::experiments::sparsity
