// A causal head: how much each row could spread, how much it does, and where it looks, all from a single pass.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "isentropic/attention.hpp"

int main() {
  using namespace isentropic;
  const std::int64_t n = 1024, d = 64;
  std::vector<float> q(n * d), k(n * d), v(n * d);
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  for (auto* tensor : {&q, &k, &v})
    for (float& x : *tensor) x = normal(generator);
  for (std::int64_t i = 512; i < n; ++i)  // in the second half, query i matches key i - 100
    std::copy_n(&k[(i - 100) * d], d, &q[i * d]);

  const Shape shape{1, 1, n, d};
  const AttentionProblem problem{.query = View(q.data(), shape),
                                 .key = View(k.data(), shape),
                                 .value = View(v.data(), shape),
                                 .mask = Mask::causal(),
                                 .statistics = Statistics::all()};
  const AttentionResult result = attention(problem);
  const RowStatistics& rows = result.statistics;

  std::printf("   row   keys   log n       H    e^H    peak  argmax\n");
  for (const std::int64_t i : {0, 1, 15, 255, 511, 512, 767, 1023}) {
    const double keys = rows.visible.at({0, 0, i});
    std::printf("%6lld %6g %7.3f %7.3f %6.1f %7.3f %7g\n", static_cast<long long>(i), keys, std::log(keys),
                rows.entropy.at({0, 0, i}), rows.effective_keys.at({0, 0, i}), rows.peak.at({0, 0, i}),
                rows.argmax.at({0, 0, i}));
  }

  // Recompute one row's entropy from its weights: the only place where a row of the n x n matrix is formed.
  const Tensor weights = attention_weights(problem, {1023});
  double entropy = 0;
  for (const double p : weights.to_doubles())
    if (p > 0) entropy -= p * std::log(p);
  const double streamed = rows.entropy.at({0, 0, 1023});
  std::printf("row 1023: H = %.6f in the pass, %.6f from its weights\n", streamed, entropy);

  bool right = std::abs(entropy - streamed) < 1e-4 && rows.entropy.at({0, 0, 0}) == 0;
  for (std::int64_t i = 0; i < n; ++i) {
    right &= rows.visible.at({0, 0, i}) == static_cast<double>(i + 1);
    right &= rows.entropy.at({0, 0, i}) <= std::log(static_cast<double>(i + 1)) + 1e-5;
    if (i >= 512) right &= rows.argmax.at({0, 0, i}) == static_cast<double>(i - 100);
  }
  return right ? 0 : 1;
}
