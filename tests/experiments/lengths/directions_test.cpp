// Random directions: correct norm, uniform on the sphere, and determined by (stream, row) alone.
#include "experiments/lengths/directions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/mix.hpp"

namespace isentropic::experiments::lengths {
namespace {

std::vector<float> direction(std::uint64_t stream, std::int64_t row, std::size_t d) {
  std::vector<float> out(d);
  Directions(stream).fill(row, std::sqrt(static_cast<double>(d)), out);
  return out;
}

double dot(const std::vector<float>& x, const std::vector<float>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(x[i]) * y[i];
  return sum;
}

TEST(Directions, HaveTheNormTheyWereAskedFor) {
  for (const std::size_t d : {1, 2, 3, 16, 65})
    EXPECT_NEAR(dot(direction(7, 3, d), direction(7, 3, d)), static_cast<double>(d), 1e-5 * static_cast<double>(d));
}

TEST(Directions, DependOnStreamAndRowAlone) {
  EXPECT_EQ(direction(1, 5, 64), direction(1, 5, 64));
  EXPECT_NE(direction(1, 5, 64), direction(2, 5, 64));
  EXPECT_NE(direction(1, 5, 64), direction(1, 6, 64));
  EXPECT_NE(mix({1, 2}), mix({2, 1}));
  EXPECT_NE(mix({0}), mix({0, 0}));
}

// q.k = d cos(theta): mean 0, variance d, fourth moment 3 d^2 d/(d + 2).
TEST(Directions, GiveTheMomentsOfTheSphere) {
  constexpr std::size_t kSize = 16;
  constexpr int kRows = 40000;
  const std::vector<float> query = direction(11, 0, kSize);
  double first = 0, second = 0, fourth = 0;
  for (int row = 0; row < kRows; ++row) {
    const double score = dot(query, direction(12, row, kSize));
    first += score / kRows;
    second += score * score / kRows;
    fourth += score * score * score * score / kRows;
  }
  const double d = kSize;
  EXPECT_NEAR(first, 0, 5 * std::sqrt(d / kRows));
  EXPECT_NEAR(second, d, 0.04 * d);
  EXPECT_NEAR(fourth, 3 * d * d * d / (d + 2), 0.1 * 3 * d * d);
}

}  // namespace
}  // namespace isentropic::experiments::lengths
