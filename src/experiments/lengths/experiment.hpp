// Entropy against context length, for every scale law: the experiment behind `isentropic lengths`.
//
// For n = 2^6 ... 2^17 random contexts (contexts.hpp) are measured (measure.hpp) under every law (laws.hpp); the slope
// dH/dlog n summarises a law, and the kappa for which kappa log n/d has slope 0 compensates (slope.hpp).
//
// What to expect. Scores lambda q.k with variance v = lambda^2 d: H = log n - v/2 while v < 2 log n. So 1/sqrt d
// gives log n - 1/2 (slope 1) and log n/d gives log n - (log n)^2/2d: at d = 64, n = 1024 that is 6.556. A needle
// has score lambda d; under log n/d that is log n, and p_needle = 1/(1 + e^{(log n)^2/2d}): 0.407 there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/lengths/contexts.hpp"
#include "experiments/lengths/laws.hpp"
#include "experiments/lengths/measure.hpp"
#include "experiments/lengths/slope.hpp"

namespace isentropic::experiments::lengths {

enum class Effort : std::uint8_t { quick, standard, thorough };
const char* name(Effort effort);

struct Options {
  std::int64_t d = 64;
  std::uint64_t seed = 1;
  PositionCode positions;
  std::vector<std::string> laws;  // names; empty: all
  Effort effort = Effort::standard;
};

// One law at all lengths.
struct Curve {
  Law law;
  std::vector<Measurement> points;  // one per length
  Estimate slope;                   // of the entropy without the needle
  Estimate needle_slope;            // of the entropy with it
};

// One key family at one d.
struct Sweep {
  Keys keys = Keys::random;
  std::int64_t d = 0;
  std::int64_t queries = 0;        // per key set
  std::vector<std::int64_t> sets;  // key sets at each length
  std::vector<Curve> curves;
  Compensation compensation;
};

struct Results {
  Options options;
  std::vector<std::int64_t> lengths;
  std::vector<Sweep> sweeps;  // the first: random keys at options.d, with the compensating law as its last curve

  const Sweep& main() const { return sweeps.front(); }
};

// Called with the fraction of the work done, in [0, 1].
using Progress = std::function<void(double)>;

// 2^6 ... 2^17; a quick run stops at 2^12.
std::vector<std::int64_t> experiment_lengths(Effort effort);
// The laws to measure: those named, except the solved one if there is a position bias, because then H is not monotone
// in lambda. Throws Error if a name is unknown or no law is left.
std::vector<Law> laws_of(const Options& options);
// Peak memory of the run in bytes: the largest key set, and a bit more.
std::int64_t memory_needed(const Options& options);

Results run_experiment(const Options& options, const Progress& progress = {});

// One family at one d, with `queries` independent queries per key set.
Sweep sweep(const Options& options, Keys keys, std::int64_t d, std::int64_t queries, const Progress& progress = {});

}  // namespace isentropic::experiments::lengths
