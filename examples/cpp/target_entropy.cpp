// The same focus at every length: lambda solved for H = 2 nats, next to the result of the usual 1/sqrt(d).
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "isentropic/attention.hpp"

int main() {
  using namespace isentropic;
  const std::int64_t rows = 32, d = 64;
  const double target = 2;
  bool right = true;
  double before = 0;

  std::printf("     n   H at 1/sqrt(d)   H solved    lambda   lambda d / log n\n");
  for (const std::int64_t n : {64, 256, 1024, 4096, 16384}) {
    std::vector<float> q(rows * d), k(n * d);
    std::mt19937 generator(3);
    std::normal_distribution<float> normal;
    for (auto* tensor : {&q, &k})
      for (float& x : *tensor) x = normal(generator);

    AttentionProblem problem{.query = View(q.data(), {1, 1, rows, d}),
                             .key = View(k.data(), {1, 1, n, d}),
                             .statistics = Statistics::of({Statistic::entropy})};
    const AttentionResult usual = attention_statistics(problem);  // no values are needed
    problem.scale = Scale::target_entropy(target);
    const AttentionResult solved = attention_statistics(problem);

    double usual_entropy = 0, entropy = 0, lambda = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      usual_entropy += usual.statistics.entropy.at({0, 0, i}) / static_cast<double>(rows);
      entropy += solved.statistics.entropy.at({0, 0, i}) / static_cast<double>(rows);
      lambda += solved.rows.scale(i) / static_cast<double>(rows);
      right &= solved.rows.solution(i) == TargetEntropyStatus::solved;
      right &= std::abs(solved.statistics.entropy.at({0, 0, i}) - target) < 1e-4;
    }
    std::printf("%6lld %16.3f %10.5f %9.4f %18.2f\n", static_cast<long long>(n), usual_entropy, entropy, lambda,
                lambda * static_cast<double>(d) / std::log(static_cast<double>(n)));
    right &= usual_entropy > before + 1;  // four times the keys can add at most log 4 = 1.39
    before = usual_entropy;
  }
  return right ? 0 : 1;
}
