// Entropy and needle probability at one length, averaged over contexts, for many scales at once.
//
// A single statistics-only pass over the keys 1 ... n - 1 gives both, because records merge exactly:
//
//   H without needle = H(record merged with key 0),   H with needle = H(record merged with the needle),
//   p_needle = e^{s_needle - L}.
//
// So n = 131072 needs neither n^2 memory nor a copy of the keys for each query.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/lengths/contexts.hpp"
#include "experiments/tools/estimate.hpp"

namespace isentropic::experiments::lengths {

using tools::Estimate;  // mean over rows and its standard error; rows of a key set are taken as independent

struct Measurement {
  Estimate lambda;          // varies only if it is solved
  Estimate entropy;         // n keys, no needle
  Estimate needle;          // probability of the needle among n keys
  Estimate needle_entropy;  // entropy of that row
};

// One measurement per lambda. Key sets are drawn a few at a time, never more than key_floats() at once.
std::vector<Measurement> measure(const ContextShape& shape, const std::vector<double>& lambdas, std::uint64_t seed,
                                 Executor& executor = default_executor());

// Solves lambda for each row so that H = target, without the needle and again with it. Position biases are not
// supported: with one, H is not monotone in lambda. `lambda` is that of the rows without the needle.
Measurement measure_target(const ContextShape& shape, double target, std::uint64_t seed,
                           Executor& executor = default_executor());

// The maximum number of floats of keys in memory at once.
std::int64_t key_floats(const ContextShape& shape);

}  // namespace isentropic::experiments::lengths
