// The speed of the attention call, as a fraction of the machine's own multiply-add peak measured in the same run.
//
// Each case is verified first; wrong results are not timed. The variants of a case (statistics none, entropy, all) are
// interleaved, so that their ratios hold on a noisy machine; every number is a median. Fractions refer to the peak
// measured just before.
//
// Operations counted: 4 d for each pair (query, visible key) forward, 2 d for statistics alone, 10 d backward.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace isentropic::bench {

struct Options {
  std::int64_t heads = 8;
  std::vector<std::int64_t> lengths = {512, 1024, 2048, 4096, 8192, 16384};
  std::vector<std::int64_t> sizes = {64, 128};  // d
  std::int64_t decode_keys = 131072;            // keys of the decoding cases; 0: none
  double seconds = 0.5;                         // minimum for each variant
};

struct Timing {
  std::string pass;   // forward, statistics, backward
  std::string dtype;  // float32, bfloat16
  std::int64_t n, d, heads;
  bool causal;
  std::string statistics;  // none, entropy, all, groups (of keys)
  double seconds, gflops, peak_fraction;
  double spread;  // interquartile range of the seconds over their median
};

// One query per head against many keys: memory-bound. The reference is a plain loop that reads the same memory on all
// threads, interleaved with it.
struct DecodeTiming {
  std::string dtype;
  std::int64_t n, d, heads, kv_heads;
  double seconds, gigabytes_per_second;
  double read_fraction;  // of the plain loop's bandwidth
};

struct Report {
  int threads;
  std::string isa;
  double fma_peak_gflops;  // best burst of the run, with multiply-adds on all threads
  std::vector<Timing> cases;
  std::vector<DecodeTiming> decode;
};

// The functions are called with each result as soon as it is available.
struct Progress {
  std::function<void(const std::vector<Timing>&)> timings = [](const auto&) {};  // one group of interleaved variants
  std::function<void(const DecodeTiming&)> decode = [](const auto&) {};
};

Report run(const Options& options, const Progress& progress = {});

// The decoding cases of a report.
std::vector<DecodeTiming> run_decode(const Options& options, const Progress& progress);

nlohmann::json json(const Report& report);

}  // namespace isentropic::bench
