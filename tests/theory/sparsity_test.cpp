// Closed forms of the sparsity index against high-precision values, quadrature and brute force.
#include "isentropic/theory/sparsity.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "isentropic/error.hpp"

namespace isentropic::theory {
namespace {

using namespace information;

// E f(e), e ~ N(0, 1), by Simpson's rule on both sides of a kink.
double expectation(const std::function<double(double)>& f, double kink) {
  const auto simpson = [&](double low, double high) {
    const int steps = 8000;
    const double h = (high - low) / steps;
    double sum = 0;
    for (int i = 0; i <= steps; ++i) {
      const double e = low + i * h, weight = i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2;
      sum += weight * f(e) * std::exp(-e * e / 2);
    }
    return sum * h / 3 / std::sqrt(2 * std::numbers::pi);
  };
  const double middle = std::min(std::max(kink, -15.0), 15.0);
  return simpson(std::min(middle, -15.0), middle) + simpson(middle, std::max(middle, 0.0) + 15);
}

double by_quadrature(const std::function<double(double)>& map, GaussianScores s) {
  const double kink = -s.beta / s.gamma;
  const auto weight = [&](double e) { return map(s.beta + s.gamma * e); };
  return expectation([&](double e) { return std::abs(weight(e)); }, kink) /
         std::sqrt(expectation([&](double e) { return weight(e) * weight(e); }, kink));
}

// For a vector, by definition.
double by_definition(const std::vector<double>& a) {
  double sum = 0, squares = 0;
  for (const double x : a) sum += std::abs(x), squares += x * x;
  return sum / std::sqrt(static_cast<double>(a.size()) * squares);
}

TEST(Sparsity, GaussianScoresAgainstQuadrature) {
  for (const double beta : {-3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0}) {
    for (const double gamma : {0.5, 1.0, 1.5, 2.0, 4.0}) {
      const GaussianScores s{beta, gamma};
      EXPECT_NEAR(sparsity_of_relu_squared(s), by_quadrature([](double x) { return x > 0 ? x * x : 0; }, s), 1e-9);
      EXPECT_NEAR(sparsity_of_identity(s), by_quadrature([](double x) { return x; }, s), 1e-9);
    }
    for (const double gamma : {0.5, 1.0, 2.0})
      EXPECT_NEAR(sparsity_of_exp({beta, gamma}), by_quadrature([](double x) { return std::exp(x); }, {beta, gamma}),
                  1e-9);
  }
}

// Reference values were computed with 400 digits.
TEST(Sparsity, ReluSquaredKeepsItsDigits) {
  const std::pair<double, double> values[] = {
      {-52, 9.3443178486881579e-296}, {-35, 4.3369645918404729e-135},  {-20, 2.1527222435544482e-45},
      {-10, 1.1473946370843151e-12},  {-5, 2.3126744501302477e-4},     {-2, 0.072006342667023137},
      {-1.0001, 0.20523807192773395}, {-1, 0.20525565242491346},       {-0.9, 0.22320941500944005},
      {-0.5, 0.30148134201381874},    {0, kReluSquaredSparsityAtZero}, {0.5, 0.51512040619211347},
      {1, 0.61277288785768882},       {3, 0.85123967058667434},        {10, 0.98085992986679638},
      {39, 0.99868895401864009},      {41, 0.99881340817086956},       {1000, 0.99999800000899996}};
  for (const auto& [t, s] : values) EXPECT_NEAR(sparsity_of_relu_squared({t, 1}) / s, 1, 1e-13) << t;
}

TEST(Sparsity, LimitsOfTheMaps) {
  EXPECT_DOUBLE_EQ(kReluSquaredSparsityAtZero, 1 / std::sqrt(6));
  EXPECT_DOUBLE_EQ(kIdentitySparsityFloor, std::sqrt(2 / std::numbers::pi));
  for (const double beta : {-1.0, 0.0, 1.0}) {
    EXPECT_NEAR(sparsity_of_relu_squared({beta, 1e7}), kReluSquaredSparsityAtZero, 1e-7);
    EXPECT_NEAR(sparsity_of_identity({beta, 1e7}), kIdentitySparsityFloor, 1e-14);
  }
  EXPECT_NEAR(sparsity_of_relu_squared({-30, 1}) / std::sqrt(std::exp(-450) / std::sqrt(2 * M_PI) / 180), 1, 0.02);
  // Scale-invariant, even at extreme scales.
  EXPECT_DOUBLE_EQ(sparsity_of_relu_squared({-0.5, 1}), sparsity_of_relu_squared({-50, 100}));
  EXPECT_DOUBLE_EQ(sparsity_of_identity({0.7, 1}), sparsity_of_identity({-70, 100}));
  EXPECT_EQ(sparsity_of_relu_squared({1e200, 1e-200}), 1);
  EXPECT_EQ(sparsity_of_relu_squared({-1e200, 1e-200}), 0);
  EXPECT_EQ(sparsity_of_identity({1e200, 1e-200}), 1);
  EXPECT_NEAR(1 - sparsity_of_identity({1e5, 1}), 5e-11, 1e-15);  // 1/(2 t^2)
  // The same score for all keys.
  EXPECT_EQ(sparsity_of_exp({5, 0}), 1);
  EXPECT_EQ(sparsity_of_relu_squared({1, 0}), 1);
  EXPECT_EQ(sparsity_of_relu_squared({0, 0}), 0);
  EXPECT_EQ(sparsity_of_relu_squared({-1, 0}), 0);
  EXPECT_EQ(sparsity_of_identity({-1, 0}), 1);
  EXPECT_EQ(sparsity_of_identity({0, 0}), 0);
}

TEST(Sparsity, MonotoneWhereItShouldBe) {
  double relu = -1, identity = 0;
  for (double t = -30; t < 60; t += 0.01) {
    EXPECT_GT(sparsity_of_relu_squared({t, 1}), relu * (1 - 1e-15)) << t;
    relu = sparsity_of_relu_squared({t, 1});
    if (t < 0) continue;
    EXPECT_GE(sparsity_of_identity({t, 1}), identity - 1e-15) << t;
    identity = sparsity_of_identity({t, 1});
  }
}

TEST(Sparsity, TaylorKernels) {
  for (const int degree : {2, 4, 6, 8, 12}) {
    for (const double gamma : {0.3, 1.0, 2.0, 3.0}) {
      const auto polynomial = [&](double x) {
        double out = 1;
        for (int k = degree; k >= 1; --k) out = 1 + out * x / k;
        return out;
      };
      EXPECT_NEAR(sparsity_of_taylor(degree, gamma), by_quadrature(polynomial, {0, gamma}), 1e-9);
    }
    double odd = 1, even = 1;  // (2p-1)!! and (p-1)!!
    for (int k = 2 * degree - 1; k > 0; k -= 2) odd *= k;
    for (int k = degree - 1; k > 0; k -= 2) even *= k;
    EXPECT_NEAR(taylor_sparsity_floor(degree), even / std::sqrt(odd), 1e-14);
    EXPECT_NEAR(sparsity_of_taylor(degree, 1e5) / taylor_sparsity_floor(degree), 1, 1e-8);
  }
  EXPECT_NEAR(taylor_sparsity_floor(1), kIdentitySparsityFloor, 1e-15);
  EXPECT_NEAR(taylor_sparsity_floor(2), 1 / std::sqrt(3), 1e-15);
  EXPECT_NEAR(sparsity_of_taylor(60, 2), std::exp(-2), 1e-12);
  EXPECT_EQ(sparsity_of_taylor(0, 3), 1);
  EXPECT_EQ(sparsity_of_taylor(4, 0), 1);
  EXPECT_NEAR(sparsity_of_taylor(30, 1e30) / taylor_sparsity_floor(30), 1, 1e-12);
}

TEST(Sparsity, FeaturesAreExact) {
  Random random(3);
  const std::size_t n = 500, d = 5;
  Table keys(n, d);
  std::vector<double> query(d), mean(d), weights(n);
  for (double& x : keys.values) x = random.exponential();
  for (double& x : query) x = random.exponential();
  Table covariance(d, d);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t i = 0; i < d; ++i) mean[i] += keys(r, i) / n, weights[r] += query[i] * keys(r, i);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) covariance(i, j) += (keys(r, i) - mean[i]) * (keys(r, j) - mean[j]) / n;
  EXPECT_NEAR(sparsity_of_features(query, mean, covariance), by_definition(weights), 1e-13);
  // Identically distributed coordinates: the general form with m = 2 (1, ..., 1), C = 9 I.
  const std::vector<double> twos(d, 2.0);
  Table nines(d, d);
  for (std::size_t i = 0; i < d; ++i) nines(i, i) = 9;
  EXPECT_NEAR(sparsity_of_independent_features(query, 2, 3), sparsity_of_features(query, twos, nines), 1e-14);
  EXPECT_NEAR(sparsity_of_independent_features(std::vector<double>(4, 0.1), 1, 1), 1 / std::sqrt(1.25), 1e-14);
  EXPECT_EQ(sparsity_of_independent_features(std::vector<double>(4, 0.0), 1, 1), 0);
  EXPECT_EQ(sparsity_of_features(std::vector<double>(d, 0.0), twos, nines), 0);
}

TEST(Sparsity, FeaturesOfGaussianCoordinates) {
  const auto map = [](Feature feature, double x) {
    if (feature == Feature::relu) return std::max(x, 0.0);
    return feature == Feature::exp || x < 0 ? std::exp(x) : x + 1;
  };
  // The trapezoidal rule over +-12 deviations; the kink at 0 is a node.
  for (const Feature feature : {Feature::relu, Feature::elu_plus_one, Feature::exp}) {
    for (const double sigma : {0.2, 0.5, 1.0, 2.0, 3.0}) {
      double weight = 0, mean = 0, square = 0;
      for (int i = -24000; i <= 24000; ++i) {
        const double e = i * 5e-4, w = std::exp(-e * e / 2), y = map(feature, sigma * e);
        weight += w, mean += w * y, square += w * y * y;
      }
      mean /= weight, square /= weight;
      const FeatureMoments found = gaussian_feature_moments(feature, sigma);
      EXPECT_NEAR(found.mean / mean, 1, 1e-6) << sigma;
      EXPECT_NEAR(found.deviation / std::sqrt(square - mean * mean), 1, 1e-6) << sigma;
    }
  }
  EXPECT_NEAR(gaussian_feature_moments(Feature::relu).mean, 0.398942, 1e-6);
  EXPECT_NEAR(gaussian_feature_moments(Feature::relu).deviation, 0.583819, 1e-6);
  EXPECT_NEAR(gaussian_feature_moments(Feature::exp).mean, std::exp(0.5), 1e-14);
  // Where e^{2 sigma^2} overflows, elu + 1 behaves like half of a relu.
  EXPECT_NEAR(gaussian_feature_moments(Feature::elu_plus_one, 1e6).mean / 398942.8, 1, 2e-6);
  EXPECT_THROW(gaussian_feature_moments(Feature::identity), Error);
  EXPECT_THROW(gaussian_feature_moments(Feature::relu, 0), Error);
}

TEST(Sparsity, NumberOfTaylorFeatures) {
  EXPECT_EQ(taylor_features(1, 5), 6);
  EXPECT_EQ(taylor_features(2, 2), 6);
  EXPECT_EQ(taylor_features(64, 2), 2145);
  EXPECT_EQ(taylor_features(64, 4), 814385);
  EXPECT_EQ(taylor_features(3, 0), 1);
  EXPECT_THROW(taylor_features(0, 2), Error);
  EXPECT_THROW(taylor_features(2, -1), Error);
}

TEST(Sparsity, Decay) {
  for (const double lambda : {0.1, 0.5, 0.9, 0.99, 0.999, 0.99999, 1.0}) {
    for (const int n : {1, 2, 10, 100, 1000, 10000}) {
      std::vector<double> a(static_cast<std::size_t>(n), 1.0);
      for (std::size_t j = 1; j < a.size(); ++j) a[j] = a[j - 1] * lambda;
      EXPECT_NEAR(sparsity_of_decay(lambda, n), by_definition(a), 2e-12) << lambda << " " << n;
      EXPECT_LE(sparsity_of_decay(lambda, n), decay_sparsity_bound(lambda, n) * (1 + 1e-14));
      EXPECT_GE(sparsity_of_decay(lambda, n), sparsity_floor(n) * (1 - 1e-14));
    }
  }
  EXPECT_NEAR(sparsity_of_decay(0.5, 2), 1.5 / std::sqrt(2.5), 1e-15);
  EXPECT_NEAR(decay_sparsity_bound(0.5, 2), std::sqrt(1.2), 1e-15);  // (1 + 1/2) / (2 (1 - 1/2)(1 + 1/4))
  EXPECT_DOUBLE_EQ(sparsity_floor(16), 0.25);
  EXPECT_NEAR(decay_sparsity_rate(0.5), std::sqrt(3), 1e-14);
  EXPECT_NEAR(sparsity_of_decay(0.9, 1000000) * 1000, decay_sparsity_rate(0.9), 1e-12);
  EXPECT_EQ(decay_sparsity_rate(1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(decay_sparsity_bound(1, 10), std::numeric_limits<double>::infinity());
  for (const double c : {0.1, 1.0, 5.0, 50.0})
    EXPECT_NEAR(sparsity_of_decay(1 - c * 1e-9, 1000000000), slow_decay_sparsity(c), 1e-6);
  EXPECT_EQ(slow_decay_sparsity(0), 1);
  // Just below 1, where 1 - lambda^n loses its digits.
  EXPECT_NEAR(sparsity_of_decay(1 - 1e-15, 10), 1, 1e-14);
}

TEST(Sparsity, RefusesBadInput) {
  const double nan = std::nan("");
  EXPECT_THROW(sparsity_of_exp({0, -1}), Error);
  EXPECT_THROW(sparsity_of_exp({nan, 1}), Error);
  EXPECT_THROW(sparsity_of_relu_squared({0, nan}), Error);
  EXPECT_THROW(sparsity_of_identity({0, std::numeric_limits<double>::infinity()}), Error);
  EXPECT_THROW(sparsity_of_taylor(3, 1), Error);
  EXPECT_THROW(taylor_sparsity_floor(0), Error);
  EXPECT_THROW(sparsity_floor(0), Error);
  EXPECT_THROW(sparsity_of_decay(0, 3), Error);
  EXPECT_THROW(sparsity_of_decay(1.01, 3), Error);
  EXPECT_THROW(sparsity_of_decay(0.5, 0), Error);
  EXPECT_THROW(slow_decay_sparsity(-1), Error);
  EXPECT_THROW(sparsity_of_features({}, {}, Table()), Error);
  EXPECT_THROW(sparsity_of_features(std::vector<double>(2), std::vector<double>(3), Table(2, 2)), Error);
  EXPECT_THROW(sparsity_of_features(std::vector<double>(2), std::vector<double>(2), Table(2, 3)), Error);
  EXPECT_THROW(sparsity_of_independent_features(std::vector<double>{-1}, 1, 1), Error);
  EXPECT_THROW(sparsity_of_independent_features(std::vector<double>{1}, 0, 1), Error);
}

}  // namespace
}  // namespace isentropic::theory
