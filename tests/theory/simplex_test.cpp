// The simplex: every metric from its definition as an expectation, gradients by differences, the flow by small steps.
#include "isentropic/theory/simplex.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "theory/naive_softmax.hpp"

namespace isentropic::theory {
namespace {

using namespace information;

const std::vector<double> kWeights = {0.5, 0.3, 0.15, 0.05};
using Family = std::function<std::vector<double>(const std::vector<double>&)>;

// E[d_i log p d_j log p] by central differences of the family's log-probabilities.
Table metric_of(const Family& family, const std::vector<double>& at) {
  const double h = 1e-6;
  const std::vector<double> p = family(at);
  Table slopes(p.size(), at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::vector<double> up = at, down = at;
    up[i] += h, down[i] -= h;
    const std::vector<double> above = family(up), below = family(down);
    for (std::size_t k = 0; k < p.size(); ++k) slopes(k, i) = std::log(above[k] / below[k]) / (2 * h);
  }
  Table out(at.size(), at.size());
  for (std::size_t k = 0; k < p.size(); ++k)
    for (std::size_t i = 0; i < at.size(); ++i)
      for (std::size_t j = 0; j < at.size(); ++j) out(i, j) += p[k] * slopes(k, i) * slopes(k, j);
  return out;
}

void expect_equal(const Table& x, const Table& y, double tolerance) {
  ASSERT_EQ(x.rows, y.rows);
  for (std::size_t i = 0; i < x.values.size(); ++i) EXPECT_NEAR(x.values[i], y.values[i], tolerance) << i;
}

TEST(Simplex, MetricsFromTheirDefinition) {
  const Family plain = [](const std::vector<double>& t) { return t; };
  const Family homogeneous = [](std::vector<double> t) {
    double sum = 0;
    for (double x : t) sum += x;
    for (double& x : t) x /= sum;
    return t;
  };
  const Family free = [](std::vector<double> t) {
    double rest = 1;
    for (double x : t) rest -= x;
    t.push_back(rest);
    return t;
  };
  const Family logits = [](const std::vector<double>& t) { return naive::softmax(t); };
  std::vector<double> logs;
  for (double a : kWeights) logs.push_back(std::log(a));
  const std::vector<double> first(kWeights.begin(), kWeights.end() - 1);
  expect_equal(fisher_metric(kWeights, SimplexCoordinates::plain), metric_of(plain, kWeights), 1e-6);
  expect_equal(fisher_metric(kWeights, SimplexCoordinates::homogeneous), metric_of(homogeneous, kWeights), 1e-6);
  expect_equal(fisher_metric(kWeights, SimplexCoordinates::free), metric_of(free, first), 1e-6);
  expect_equal(fisher_metric(kWeights, SimplexCoordinates::logits), metric_of(logits, logs), 1e-6);
}

TEST(Simplex, GradientsByDifferences) {
  const std::vector<double> natural = natural_entropy_gradient(kWeights);
  const double h = 1e-6;
  double sum = 0;
  for (std::size_t i = 0; i < kWeights.size(); ++i) {
    std::vector<double> up, down;
    for (double a : kWeights) up.push_back(std::log(a)), down.push_back(std::log(a));
    up[i] += h, down[i] -= h;
    EXPECT_NEAR(natural[i], (naive::entropy(up) - naive::entropy(down)) / (2 * h), 1e-9);
    std::vector<double> more = kWeights, less = kWeights;
    more[i] += h, less[i] -= h;
    EXPECT_NEAR(euclidean_entropy_gradient(kWeights)[i],
                (naive::entropy_of_weights(more) - naive::entropy_of_weights(less)) / (2 * h), 1e-8);
    sum += natural[i];
  }
  EXPECT_NEAR(sum, 0, 1e-15);
  EXPECT_NEAR(natural_entropy_gradient(std::vector{0.75, 0.25})[1], 3.0 / 16 * std::log(3.0), 1e-15);
  EXPECT_EQ(natural_entropy_gradient(std::vector{1.0, 0.0})[1], 0);
}

TEST(Simplex, FlowIsTempering) {
  std::vector<double> a = kWeights;
  const int steps = 20000;
  for (int t = 0; t < steps; ++t) {
    const std::vector<double> gradient = natural_entropy_gradient(a);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += gradient[i] / steps;
  }
  const std::vector<double> closed = entropy_flow(kWeights, 1);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], closed[i], 1e-5);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(entropy_flow(closed, -1)[i], kWeights[i], 1e-14);
}

TEST(Simplex, HeightBelowTheCentre) {
  EXPECT_NEAR(kl_to_uniform(kWeights), std::log(4.0) - naive::entropy_of_weights(kWeights), 1e-15);
  EXPECT_NEAR(kl_to_uniform(std::vector{0.75, 0.25}), 0.130812, 1e-6);
  EXPECT_NEAR(kl_to_uniform(std::vector{1.0, 0.0, 0.0}), std::log(3.0), 1e-15);
}

TEST(Simplex, BoundsNearACorner) {
  Random random(2);
  for (int t = 0; t < 500; ++t) {
    const std::size_t n = 12;
    std::vector<double> scores = random.normals(n, random.uniform(0.1, 6));
    std::swap(scores[0], *std::max_element(scores.begin(), scores.end()));
    const std::vector<double> a = naive::softmax(scores);
    const double gap = scores[0] - *std::max_element(scores.begin() + 1, scores.end());
    EXPECT_LE(-std::log(a[0]), log_sum_exp_excess_bound(static_cast<std::int64_t>(n), gap) + 1e-12);
    // |o - v*| for values at both ends of an interval of length 3: attained.
    double o = 0;
    for (std::size_t i = 1; i < n; ++i) o += a[i];
    EXPECT_NEAR(3 * o, hard_attention_distance_bound(a[0], 3), 1e-14);
    // Power iteration on diag(a) - a a^T.
    std::vector<double> x = random.normals(n);
    double norm = 0;
    for (int k = 0; k < 200; ++k) {
      double mean = 0, squares = 0;
      for (std::size_t i = 0; i < n; ++i) mean += a[i] * x[i];
      for (std::size_t i = 0; i < n; ++i) x[i] = a[i] * (x[i] - mean), squares += x[i] * x[i];
      norm = std::sqrt(squares);
      for (double& y : x) y /= norm;
    }
    EXPECT_LE(norm, softmax_jacobian_bound(a[0]) + 1e-12);
  }
}

// If the other scores are equal and far below, the bounds are attained to first order: sum e^s = e^max (1 + 4 e^-20)
// for five keys, and the Jacobian of two keys has norm 2 a (1 - a).
TEST(Simplex, BoundsNearACornerAreSharp) {
  EXPECT_NEAR(log_sum_exp_excess_bound(5, 20) / std::log1p(4 * std::exp(-20.0)), 1, 1e-8);
  const double a = 1 - 1e-6;
  EXPECT_NEAR(softmax_jacobian_bound(a) / (2 * a * (1 - a)), 1, 2e-6);
  EXPECT_EQ(softmax_jacobian_bound(1), 0);
}

TEST(Simplex, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(fisher_metric(std::vector{1.0, 0.0}, SimplexCoordinates::plain), Error);
  EXPECT_THROW(kl_to_uniform(std::vector{0.5, 0.4}), Error);
  EXPECT_THROW(hard_attention_distance_bound(1.5, 1), Error);
  EXPECT_THROW(log_sum_exp_excess_bound(0, 1), Error);
}

}  // namespace
}  // namespace isentropic::theory
