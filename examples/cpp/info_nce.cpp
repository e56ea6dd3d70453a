// InfoNCE over 4,096 candidates without materialising their matrix, and the bound on mutual information it implies.
//
// Pairs (x, y) of standard normals with correlation rho have I(X;Y) = -log(1 - rho^2) / 2 in each dimension. The best
// critic is a dot product, (rho y x - rho^2 x^2 / 2) / (1 - rho^2): the bound log N - loss comes close.
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "isentropic/softmax_loss.hpp"

int main() {
  using namespace isentropic;
  const std::int64_t n = 4096, dimensions = 3, d = 2 * dimensions;
  const double rho = 0.8, rest = 1 - rho * rho;
  std::vector<float> query, key;
  std::mt19937 generator(4);
  std::normal_distribution<double> normal;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < dimensions; ++c) {
      const double x = normal(generator), y = rho * x + std::sqrt(rest) * normal(generator);
      query.insert(query.end(), {static_cast<float>(rho * y / rest), static_cast<float>(-rho * rho / 2 / rest)});
      key.insert(key.end(), {static_cast<float>(x), static_cast<float>(x * x)});
    }
  std::vector<std::int64_t> target(n);
  std::iota(target.begin(), target.end(), 0);

  SoftmaxLossProblem problem{
      .query = View(query.data(), {n, d}), .key = View(key.data(), {n, d}), .target = View(target.data(), {n})};
  const auto bound = [&] {
    const SoftmaxLossResult result = softmax_loss(problem);
    return std::log(n) - std::accumulate(result.loss.begin(), result.loss.end(), 0.0) / static_cast<double>(n);
  };
  const double truth = -static_cast<double>(dimensions) * std::log(rest) / 2, best = bound();
  problem.scale = 1 / 10.0;  // a temperature ten times too high
  const double hot = bound();
  std::printf("I(X;Y) = %.3f nats; log N = %.3f is the most that InfoNCE can say\n", truth, std::log(n));
  std::printf("log N - loss = %.3f with the best critic, %.3f at ten times the temperature\n", best, hot);
  return std::abs(best - truth) < 0.1 && hot < best - 0.5 ? 0 : 1;
}
