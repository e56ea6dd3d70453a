// Times the attention call. Every case is verified first and a wrong answer is not timed. Ratios come from
// interleaved pairs within one run: absolute numbers on a shared machine mean little.
#include "isentropic/attention.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace {

using namespace isentropic;

struct Inputs {
  std::int64_t heads, n, d;
  std::vector<float> query, key, value;

  Inputs(std::int64_t heads_, std::int64_t n_, std::int64_t d_) : heads(heads_), n(n_), d(d_) {
    std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    for (std::vector<float>* tensor : {&query, &key, &value}) {
      tensor->resize(static_cast<std::size_t>(heads * n * d));
      for (float& x : *tensor) x = normal(generator);
    }
  }

  AttentionProblem problem() const {
    const Shape shape{1, heads, n, d};
    return {.query = View(query.data(), shape), .key = View(key.data(), shape), .value = View(value.data(), shape)};
  }
};

// Entropy and first output of the last row, formed naively in double.
bool is_right(const Inputs& in, const AttentionResult& result) {
  const std::int64_t i = in.n - 1;
  std::vector<double> p(static_cast<std::size_t>(in.n));
  double highest = -1e300, z = 0, entropy = 0, out = 0;
  for (std::int64_t j = 0; j < in.n; ++j) {
    double dot = 0;
    for (std::int64_t c = 0; c < in.d; ++c) dot += double(in.query[i * in.d + c]) * double(in.key[j * in.d + c]);
    p[j] = dot / std::sqrt(double(in.d));
    highest = std::max(highest, p[j]);
  }
  for (double& x : p) z += x = std::exp(x - highest);
  for (std::int64_t j = 0; j < in.n; ++j) {
    entropy -= p[j] / z * std::log(p[j] / z);
    out += p[j] / z * double(in.value[j * in.d]);
  }
  return std::abs(result.statistics.entropy.at({0, 0, i}) - entropy) < 1e-4 &&
         std::abs(result.output.at({0, 0, i, 0}) - out) < 1e-4;
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

bool bench_case(std::int64_t heads, std::int64_t n, std::int64_t d) {
  const Inputs in(heads, n, d);
  AttentionProblem plain = in.problem(), measured = plain, causal = plain;
  measured.statistics = Statistics::all();
  causal.mask = Mask::causal();
  const AttentionResult forward = attention(measured);
  if (!is_right(in, forward)) {
    fmt::print(stderr, "n = {}, d = {}: wrong answer, not timed\n", n, d);
    return false;
  }
  const AttentionUpstream upstream{.output = forward.output};
  std::vector<double> off, ratio, causal_ratio, statistics, backward;
  for (int round = 0; round < 5; ++round) {
    const double t_off = seconds([&] { attention(plain); });
    off.push_back(t_off);
    ratio.push_back(seconds([&] { attention(measured); }) / t_off);
    causal_ratio.push_back(seconds([&] { attention(causal); }) / t_off);
    statistics.push_back(seconds([&] { attention_statistics(measured); }) / t_off);
    backward.push_back(seconds([&] { attention_backward(measured, forward, upstream); }) / t_off);
  }
  const double gflops = 4e-9 * double(heads) * double(n) * double(n) * double(d) / median(off);
  fmt::print("{:>6} {:>4} {:>9.1f} {:>9.1f} {:>12.3f} {:>10.3f} {:>12.3f} {:>10.3f}\n", n, d, median(off) * 1e3, gflops,
             median(ratio), median(causal_ratio), median(statistics), median(backward));
  return true;
}

}  // namespace

int main() {
  fmt::print("float32, 4 heads, {} threads; ratios to the plain forward pass, medians of 5\n\n",
             default_executor().threads());
  fmt::print("{:>6} {:>4} {:>9} {:>9} {:>12} {:>10} {:>12} {:>10}\n", "n", "d", "ms", "GFLOP/s", "statistics", "causal",
             "stats only", "backward");
  bool right = true;
  for (std::int64_t d : {64, 128})
    for (std::int64_t n : {512, 1024, 2048, 4096}) right = bench_case(4, n, d) && right;
  return right ? 0 : 1;
}
