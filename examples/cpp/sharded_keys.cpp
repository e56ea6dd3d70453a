// Keys in three places: each computes its part, and the parts merge in any order into the result of a single pass.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "isentropic/attention.hpp"

int main() {
  using namespace isentropic;
  const std::int64_t heads = 2, n = 768, d = 32;
  std::vector<float> q(heads * n * d), k(heads * n * d), v(heads * n * d);
  std::mt19937 generator(2);
  std::normal_distribution<float> normal;
  for (auto* tensor : {&q, &k, &v})
    for (float& x : *tensor) x = normal(generator);

  const Shape shape{1, heads, n, d};
  const AttentionProblem whole{.query = View(q.data(), shape),
                               .key = View(k.data(), shape),
                               .value = View(v.data(), shape),
                               .mask = Mask::causal(),
                               .scale = Scale::log_n(4.0),  // depends on the keys a row sees, over all places
                               .statistics = Statistics::all()};

  // What each place knows: its keys and values, their offset, and the total number of keys.
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    AttentionProblem problem = whole;
    problem.key = whole.key.slice(2, begin, end);
    problem.value = whole.value.slice(2, begin, end);
    problem.shard = {.key_runs = {Run{begin}}, .total_queries = n, .total_keys = n};
    return attention_partial(problem);
  };
  const Partial first = part(0, 100), second = part(100, 500), third = part(500, n);
  const AttentionResult merged = finish(merge(third, merge(first, second)), whole);
  const AttentionResult direct = attention(whole);

  const auto distance = [](const Tensor& x, const Tensor& y) {
    const std::vector<double> a = x.to_doubles(), b = y.to_doubles();
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
  };
  const double output = distance(merged.output, direct.output);
  const double entropy = distance(merged.statistics.entropy, direct.statistics.entropy);
  std::printf("row 700 of head 1: H = %.6f merged, %.6f in one pass\n", merged.statistics.entropy.at({0, 1, 700}),
              direct.statistics.entropy.at({0, 1, 700}));
  std::printf("largest difference over all rows: output %.1e, entropy %.1e (float32)\n", output, entropy);
  return output < 1e-5 && entropy < 1e-4 ? 0 : 1;
}
