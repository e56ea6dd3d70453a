// Memory is linear in n. The peak is process-wide and never falls, so the small test comes first.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "isentropic/attention.hpp"

namespace isentropic {
namespace {

double peak_resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

bool instrumented() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

// Cheap, reproducible, roughly centred numbers.
std::vector<float> numbers(std::int64_t n, std::uint64_t seed) {
  std::vector<float> out(static_cast<std::size_t>(n));
  std::uint64_t state = seed;
  for (float& x : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<float>(static_cast<double>(state >> 40) / double(1 << 24) - 0.5) * 3.4f;
  }
  return out;
}

TEST(Memory, OutputAndGradientsNeedNoSquareBuffer) {
  if (instrumented()) GTEST_SKIP() << "a sanitiser's shadow memory is not the library's";
  constexpr std::int64_t n = 8192, d = 8;  // an n x n buffer of floats would take 256 MiB
  const std::vector<float> x = numbers(n * d, 3);
  const View view(x.data(), {1, 1, n, d});
  AttentionProblem problem{
      .query = view, .key = view, .value = view, .mask = Mask::causal(), .statistics = Statistics::all()};
  const double before = peak_resident_mib();
  for (const ScoreMap& map : {ScoreMap::softmax(), ScoreMap::relu_squared(), ScoreMap::top_k(16)}) {
    problem.map = map;
    const AttentionResult forward = attention(problem);
    attention_backward(problem, forward, {.output = forward.output});
  }
  EXPECT_LT(peak_resident_mib() - before, 64);
}

TEST(Memory, AMillionKeysFitInAGibibyte) {
  if (instrumented()) GTEST_SKIP() << "a sanitiser's shadow memory is not the library's";
  constexpr std::int64_t n = 1 << 20, d = 64, queries = 64;
  const std::vector<float> q = numbers(queries * d, 1), k = numbers(n * d, 2);
  const AttentionResult result = attention_statistics({.query = View(q.data(), {1, 1, queries, d}),
                                                       .key = View(k.data(), {1, 1, n, d}),
                                                       .statistics = Statistics::all()});
  // Independent scores of variance V: H = log n - V / 2; here |q|^2 and E[k^2] are close to 1 per coordinate.
  EXPECT_NEAR(result.statistics.entropy.at({0, 0, 0}), std::log(double(n)) - 0.5, 0.25);
  EXPECT_EQ(result.statistics.visible.at({0, 0, 0}), double(n));
  EXPECT_LT(peak_resident_mib(), 1024);
}

}  // namespace
}  // namespace isentropic
