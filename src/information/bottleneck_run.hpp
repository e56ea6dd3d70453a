// One run of the iteration on a prepared problem, for the curve that needs thousands of them.
#pragma once

#include "information/bottleneck_problem.hpp"
#include "isentropic/information/bottleneck.hpp"

namespace isentropic::information::bottleneck {

// I(Z;Y) less beta times the price: I(Z;X), or H(Z) of the deterministic kind.
double objective(const Information& information, double beta, BottleneckKind kind);

BottleneckCode run(const Problem& problem, double beta, const Table& start, const BottleneckOptions& options);

}  // namespace isentropic::information::bottleneck
