// Times forward and backward passes after verifying their results against a plain computation.
#include "bench/attention_bench.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/timing.hpp"
#include "isentropic/attention.hpp"
#include "isentropic/instruction_sets.hpp"

namespace isentropic::bench {
namespace {

// Random queries, keys and values, and the same in bfloat16.
struct Inputs {
  std::int64_t heads, n, d;
  std::vector<float> wide[3];
  std::vector<bfloat16> narrow[3];

  Inputs(std::int64_t heads_, std::int64_t n_, std::int64_t d_) : heads(heads_), n(n_), d(d_) {
    std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    for (int part = 0; part < 3; ++part) {
      for (std::int64_t x = 0; x < heads * n * d; ++x) {
        narrow[part].push_back(to_bfloat16(normal(generator)));
        wide[part].push_back(to_float(narrow[part].back()));
      }
    }
  }

  AttentionProblem problem(bool bfloat, bool causal) const {
    const Shape shape{1, heads, n, d};
    const auto view = [&](int part) {
      return bfloat ? View(narrow[part].data(), shape) : View(wide[part].data(), shape);
    };
    return {.query = view(0), .key = view(1), .value = view(2), .mask = causal ? Mask::causal() : Mask::none()};
  }
};

// Compares the last row of head 0 with a naive computation in double.
void verify(const Inputs& in, const AttentionResult& result, const std::string& what) {
  const std::int64_t i = in.n - 1;
  std::vector<double> p(static_cast<std::size_t>(in.n));
  double highest = -INFINITY, z = 0, entropy = 0, output = 0;
  for (std::int64_t j = 0; j < in.n; ++j) {
    p[j] = 0;
    for (std::int64_t c = 0; c < in.d; ++c)
      p[j] += static_cast<double>(in.wide[0][i * in.d + c]) * static_cast<double>(in.wide[1][j * in.d + c]);
    p[j] /= std::sqrt(static_cast<double>(in.d));
    highest = std::max(highest, p[j]);
  }
  for (double& x : p) z += x = std::exp(x - highest);
  for (std::int64_t j = 0; j < in.n; ++j) {
    entropy -= p[j] / z * std::log(p[j] / z);
    output += p[j] / z * static_cast<double>(in.wide[2][j * in.d]);
  }
  const double tolerance = result.output.type() == DType::bfloat16 ? 4e-3 : 1e-4;
  if (!(std::abs(result.statistics.entropy.at({0, 0, i}) - entropy) < 1e-4) ||
      !(std::abs(result.output.at({0, 0, i, 0}) - output) < tolerance))
    throw Error("answer of " + what, "wrong", "that of a plain computation; not timed");
}

// Value gradients summed over keys equal upstream gradients summed over rows, because weights sum to one.
void verify(const AttentionUpstream& upstream, const Tensor& upstream_tensor, const AttentionGradients& gradients) {
  const auto total = [](const Tensor& tensor) {
    double sum = 0, size = 0;
    for (double x : tensor.to_doubles()) sum += x, size += std::abs(x);
    return std::pair(sum, size);
  };
  const auto [expected, expected_size] = total(upstream_tensor);
  const auto [met, met_size] = total(gradients.value);
  if (!upstream.output.present() || !(std::abs(met - expected) < 1e-3 * (1 + expected_size)))
    throw Error("gradient of the values", met, to_text(expected) + "; not timed");
}

struct Variant {
  Timing timing;
  double operations;
  std::function<void()> work;
};

// One burst of multiply-adds on all threads, in GFLOP/s.
double fma_rate() {
  Executor& executor = default_executor();
  std::vector<double> operations(executor.threads());
  const double time = seconds_of([&] {
    executor.parallel_for(executor.threads(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t thread = begin; thread < end; ++thread) operations[thread] = fma_burst(4'000'000);
    });
  });
  double total = 0;
  for (double count : operations) total += count;
  return total / time * 1e-9;
}

// Cycles through all variants until they have had `seconds` each on average: three rounds at least, unless these take
// ten times as long, and fifty at most. Each round measures the peak anew: on a shared machine it changes during a
// case.
std::vector<Timing> time_interleaved(std::vector<Variant> variants, double seconds, double& highest_peak) {
  std::vector<std::vector<double>> times(variants.size()), fractions(variants.size());
  double spent = 0;
  const double patience = 10 * seconds * static_cast<double>(variants.size());
  for (int round = 0; round < 1 || (round < 3 && spent < patience) ||
                      (spent < seconds * static_cast<double>(variants.size()) && round < 50);
       ++round) {
    const double peak = fma_rate();
    highest_peak = std::max(highest_peak, peak);
    for (std::size_t v = 0; v < variants.size(); ++v) {
      times[v].push_back(seconds_of(variants[v].work));
      fractions[v].push_back(variants[v].operations / times[v].back() * 1e-9 / peak);
      spent += times[v].back();
    }
  }
  std::vector<Timing> out;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    Timing timing = variants[v].timing;
    timing.seconds = median(times[v]);
    timing.spread = (quantile(times[v], 0.75) - quantile(times[v], 0.25)) / timing.seconds;
    timing.gflops = variants[v].operations / timing.seconds * 1e-9;
    timing.peak_fraction = median(fractions[v]);
    out.push_back(timing);
  }
  return out;
}

std::vector<Timing> run_case(const Inputs& in, bool bfloat, bool causal, double seconds, double& highest_peak) {
  const std::string dtype = bfloat ? "bfloat16" : "float32";
  const AttentionProblem none = in.problem(bfloat, causal);
  AttentionProblem entropy = none, all = none, groups = none;
  entropy.statistics = Statistics::of({Statistic::log_partition, Statistic::entropy});
  all.statistics = Statistics::all();
  groups.statistics = Statistics::none().groups(4, 64);
  const AttentionResult forward = attention(all);
  verify(in, forward, dtype + " n = " + std::to_string(in.n) + " d = " + std::to_string(in.d));
  const AttentionUpstream upstream{.output = forward.output};
  verify(upstream, forward.output, attention_backward(all, forward, upstream));

  const double n = static_cast<double>(in.n);
  const double pairs = causal ? n * (n + 1) / 2 : n * n;
  const double unit = pairs * static_cast<double>(in.d * in.heads);
  const auto timing = [&](const char* pass, const char* statistics) {
    return Timing{pass, dtype, in.n, in.d, in.heads, causal, statistics, 0, 0, 0, 0};
  };
  std::vector<Variant> variants = {
      {timing("forward", "none"), 4 * unit, [&] { attention(none); }},
      {timing("forward", "entropy"), 4 * unit, [&] { attention(entropy); }},
      {timing("forward", "all"), 4 * unit, [&] { attention(all); }},
      {timing("forward", "groups"), 4 * unit, [&] { attention(groups); }},
      {timing("statistics", "all"), 2 * unit, [&] { attention_statistics(all); }},
      {timing("backward", "all"), 10 * unit, [&] { attention_backward(all, forward, upstream); }}};
  return time_interleaved(std::move(variants), seconds, highest_peak);
}

}  // namespace

Report run(const Options& options, const Progress& progress) {
  Report report{default_executor().threads(), {}, fma_rate(), {}, {}};
  for (const InstructionSet& set : instruction_sets())
    if (set.active) report.isa = set.name;
  for (std::int64_t d : options.sizes)
    for (std::int64_t n : options.lengths) {
      const Inputs in(options.heads, n, d);
      for (bool bfloat : {false, true})
        for (bool causal : {false, true}) {
          const std::vector<Timing> timings = run_case(in, bfloat, causal, options.seconds, report.fma_peak_gflops);
          progress.timings(timings);
          report.cases.insert(report.cases.end(), timings.begin(), timings.end());
        }
    }
  report.decode = run_decode(options, progress);
  return report;
}

nlohmann::json json(const Report& report) {
  nlohmann::json cases = nlohmann::json::array();
  for (const Timing& timing : report.cases)
    cases.push_back({{"pass", timing.pass},
                     {"dtype", timing.dtype},
                     {"n", timing.n},
                     {"d", timing.d},
                     {"heads", timing.heads},
                     {"causal", timing.causal},
                     {"statistics", timing.statistics},
                     {"seconds", timing.seconds},
                     {"gflops", timing.gflops},
                     {"peak_fraction", timing.peak_fraction},
                     {"spread", timing.spread}});
  nlohmann::json decode = nlohmann::json::array();
  for (const DecodeTiming& timing : report.decode)
    decode.push_back({{"dtype", timing.dtype},
                      {"n", timing.n},
                      {"d", timing.d},
                      {"heads", timing.heads},
                      {"kv_heads", timing.kv_heads},
                      {"seconds", timing.seconds},
                      {"gigabytes_per_second", timing.gigabytes_per_second},
                      {"read_fraction", timing.read_fraction}});
  return {{"machine", {{"threads", report.threads}, {"isa", report.isa}, {"fma_peak_gflops", report.fma_peak_gflops}}},
          {"cases", cases},
          {"decode", decode}};
}

}  // namespace isentropic::bench
