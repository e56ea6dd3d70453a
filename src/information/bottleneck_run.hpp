// One run of the iteration on a prepared problem; the curve needs thousands of them.
#pragma once

#include "information/bottleneck_problem.hpp"
#include "isentropic/information/bottleneck.hpp"

namespace isentropic::information::bottleneck {

// I(Z;Y) minus beta times the price: I(Z;X), or H(Z) for the deterministic kind.
double objective(const Information& information, double beta, BottleneckKind kind);

BottleneckCode run(const Problem& problem, double beta, const Table& start, const BottleneckOptions& options);

}  // namespace isentropic::information::bottleneck
