// Bounds on the change of attention: random changes never exceed them, and suitable ones attain them.
#include "isentropic/theory/sensitivity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "isentropic/error.hpp"

namespace isentropic::theory {
namespace {

using namespace information;

using Vector = std::vector<double>;

Vector softmax(Vector s) {
  const double highest = *std::max_element(s.begin(), s.end());
  double sum = 0;
  for (double& x : s) sum += x = std::exp(x - highest);
  for (double& x : s) x /= sum;
  return s;
}

// The largest |J sigma|_1 over all sign vectors sigma.
double brute_infinity_norm(const Vector& a) {
  double greatest = 0;
  for (unsigned mask = 0; mask < 1u << a.size(); ++mask) {
    double mean = 0, sum = 0;
    const auto sign = [&](std::size_t i) { return (mask >> i & 1u) != 0 ? 1.0 : -1.0; };
    for (std::size_t i = 0; i < a.size(); ++i) mean += a[i] * sign(i);
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * std::abs(sign(i) - mean);
    greatest = std::max(greatest, sum);
  }
  return greatest;
}

TEST(Sensitivity, RandomChangesStayWithinTheBounds) {
  Random random(1);
  for (int t = 0; t < 3000; ++t) {
    const auto n = static_cast<std::size_t>(random.integer(2, 9));
    const Vector s = random.normals(n, 2);
    const Vector e = random.normals(n, random.uniform(0, 2));
    const Table v(n, 3, random.normals(3 * n));
    Vector shifted(s);
    for (std::size_t i = 0; i < n; ++i) shifted[i] += e[i];
    const Vector a = softmax(s), b = softmax(shifted);
    double l1 = 0, l2 = 0, change = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      double x = 0;
      for (std::size_t i = 0; i < n; ++i) x += (b[i] - a[i]) * v(i, d);
      change += x * x;
    }
    double size = 0;
    for (std::size_t i = 0; i < n; ++i)
      l1 += std::abs(a[i] - b[i]), l2 += std::pow(a[i] - b[i], 2), size += e[i] * e[i];
    EXPECT_LE(l1, weights_change_bound(range_of(e)) + 1e-12);
    EXPECT_LE(std::sqrt(l2), kSoftmaxEuclideanConstant * std::sqrt(size) + 1e-12);
    EXPECT_LE(std::sqrt(change), output_change_bound(diameter(v), range_of(e)) + 1e-12);
  }
}

TEST(Sensitivity, TwoKeysThatSwapAttainThem) {
  for (const double e : {0.01, 1.0, 5.0}) {
    const Vector a = softmax({e / 2, -e / 2}), change = {-e, e};
    EXPECT_NEAR(2 * std::abs(a[0] - a[1]), weights_change_bound(range_of(change)), 1e-14);
    // Values +-1: the output goes from a_0 - a_1 to its negative.
    EXPECT_NEAR(2 * std::abs(a[0] - a[1]), output_change_bound(2, range_of(change)), 1e-14);
  }
  EXPECT_EQ(range_of({}), 0);
  EXPECT_EQ(diameter(Table(1, 3)), 0);
  EXPECT_DOUBLE_EQ(diameter(Table{{0, 0}, {3, 4}, {1, 1}}), 5);
}

TEST(Sensitivity, InfinityNormIsTheBestSubset) {
  EXPECT_DOUBLE_EQ(softmax_infinity_norm(Vector{0.9, 0.1}), 0.36);
  EXPECT_DOUBLE_EQ(softmax_infinity_norm(Vector{0.5, 0.5, 0}), 1);
  Random random(2);
  for (int t = 0; t < 60; ++t) {
    const Vector a = random.probabilities(static_cast<std::size_t>(random.integer(1, 11)));
    EXPECT_NEAR(softmax_infinity_norm(a), brute_infinity_norm(a), 1e-12);
  }
  EXPECT_NEAR(softmax_infinity_norm(Vector(36, 1.0 / 36)), 1, 1e-12);
  EXPECT_THROW(softmax_infinity_norm(Vector(37, 1.0 / 37)), Error);
  Vector mostly_zero(1000, 0.0);
  mostly_zero[7] = 0.9, mostly_zero[500] = 0.1;
  EXPECT_DOUBLE_EQ(softmax_infinity_norm(mostly_zero), 0.36);
  EXPECT_THROW(softmax_infinity_norm(Vector{0.5, 0.6}), Error);
}

TEST(Sensitivity, EuclideanNorms) {
  EXPECT_NEAR(softmax_euclidean_norm(Vector{0.5, 0.5}), 0.5, 1e-15);
  EXPECT_EQ(kSoftmaxEuclideanConstant, 0.5);
  EXPECT_NEAR(softmax_euclidean_norm(Vector{0.9, 0.1}), 0.18, 1e-15);
  EXPECT_NEAR(softmax_euclidean_norm(Vector(64, 1.0 / 64)), 1.0 / 64, 1e-15);
  // Values +-1 on equal weights: columns +-1/2, one row, so the norm is 1/sqrt 2.
  EXPECT_NEAR(output_euclidean_norm(Vector{0.5, 0.5}, Table{{1}, {-1}}), std::sqrt(0.5), 1e-15);
  // Weights (3/4, 1/4) on (0, 1), o = 1/4: columns -+3/16.
  EXPECT_NEAR(output_euclidean_norm(Vector{0.75, 0.25}, Table{{0}, {1}}), 3.0 / 16 * std::sqrt(2.0), 1e-15);
  EXPECT_THROW(output_euclidean_norm(Vector{0.5, 0.5}, Table(3, 1)), Error);
}

}  // namespace
}  // namespace isentropic::theory
