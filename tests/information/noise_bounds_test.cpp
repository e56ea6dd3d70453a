// Bounds for noisy layers against the exact information of a mixture.
#include "isentropic/information/noise_bounds.hpp"

#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <numbers>

#include "base/random.hpp"
#include "isentropic/error.hpp"

namespace isentropic::information {
namespace {

// I(X;T) of a one-dimensional mixture, by integrating its density.
double exact_information(const Table& outputs, double variance) {
  const auto density = [&](double t) {
    double sum = 0;
    for (double f : outputs.values) sum += std::exp(-(t - f) * (t - f) / (2 * variance));
    return sum / static_cast<double>(outputs.rows) / std::sqrt(2 * std::numbers::pi * variance);
  };
  const auto integrand = [&](double t) {
    const double p = density(t);
    return p > 0 ? -p * std::log(p) : 0;
  };
  const double entropy = boost::math::quadrature::gauss_kronrod<double, 61>::integrate(integrand, -30, 30, 15, 1e-12);
  return entropy - std::log(2 * std::numbers::pi * std::numbers::e * variance) / 2;
}

TEST(NoiseBounds, TwoOutputsByHand) {
  const InformationBounds bounds = noisy_layer_input_information(Table{{0}, {3}}, .5);
  EXPECT_NEAR(bounds.upper, std::log(2) - std::log1p(std::exp(-9 / (2 * .5))), 1e-14);
  EXPECT_NEAR(bounds.lower, std::log(2) - std::log1p(std::exp(-9 / (8 * .5))), 1e-14);
}

TEST(NoiseBounds, EncloseTheTruth) {
  Random random(1);
  for (double variance : {.01, .1, 1.0, 10.0}) {
    const Table outputs(12, 1, random.normals(12, 3));
    const InformationBounds bounds = noisy_layer_input_information(outputs, variance);
    const double truth = exact_information(outputs, variance);
    EXPECT_LE(bounds.lower, truth + 1e-9) << variance;
    EXPECT_GE(bounds.upper, truth - 1e-9) << variance;
  }
}

TEST(NoiseBounds, Limits) {
  const Table apart{{0, 0}, {100, 0}, {0, 100}, {100, 100}}, equal(4, 2, 1.0);
  EXPECT_NEAR(noisy_layer_input_information(apart, .1).lower, std::log(4), 1e-12);
  EXPECT_NEAR(noisy_layer_input_information(apart, .1).upper, std::log(4), 1e-12);
  EXPECT_NEAR(noisy_layer_input_information(equal, .1).upper, 0, 1e-15);
  const std::vector<double> weights = {.5, .5, 0, 0};
  EXPECT_NEAR(noisy_layer_input_information(apart, .1, weights).upper, std::log(2), 1e-12);
}

// Four outputs far apart, labelled in pairs: one bit about the label. Labels unrelated to the outputs: none.
TEST(NoiseBounds, Labels) {
  const Table apart{{0}, {100}, {200}, {300}};
  const LabelInformation by_pairs = noisy_layer_label_information(apart, std::vector<std::int64_t>{0, 0, 1, 1}, .1);
  EXPECT_NEAR(by_pairs.bounds.lower, std::log(2), 1e-12);
  EXPECT_NEAR(by_pairs.bounds.upper, std::log(2), 1e-12);
  EXPECT_NEAR(by_pairs.pairwise_kl, std::log(2), 1e-12);
  const Table twice{{0}, {1}, {0}, {1}};
  const LabelInformation unrelated = noisy_layer_label_information(twice, std::vector<std::int64_t>{0, 0, 1, 1}, .1);
  EXPECT_NEAR(unrelated.pairwise_kl, 0, 1e-14);
  EXPECT_NEAR(unrelated.pairwise_bhattacharyya, 0, 1e-14);
  EXPECT_LE(unrelated.bounds.lower, 0);
  EXPECT_GE(unrelated.bounds.upper, 0);
}

// Two outputs at distance 2 under one label, a third far away: with e = exp(-2 / s2) and exp(-1 / (2 s2)) the terms are
// I(X;T) = log 3 - (2/3) log(1 + e) and, within the first label, (2/3) (log 2 - log(1 + e)).
TEST(NoiseBounds, UnevenLabelsByHand) {
  const LabelInformation found =
      noisy_layer_label_information({{0}, {2}, {1000}}, std::vector<std::int64_t>{7, 7, 9}, 1);
  const double near = 2.0 / 3 * std::log1p(std::exp(-.5)), far = 2.0 / 3 * std::log1p(std::exp(-2));
  const double all = std::log(3), within = 2.0 / 3 * std::log(2);
  EXPECT_NEAR(found.pairwise_kl, all - within, 1e-14);
  EXPECT_NEAR(found.pairwise_bhattacharyya, all - within, 1e-14);
  EXPECT_NEAR(found.bounds.lower, all - near - (within - far), 1e-14);
  EXPECT_NEAR(found.bounds.upper, all - far - (within - near), 1e-14);
}

// Weights 3/4 and 1/4 at distance 3.
TEST(NoiseBounds, WeightsByHand) {
  const InformationBounds found = noisy_layer_input_information({{0}, {3}}, .5, std::vector<double>{.75, .25});
  const auto bound = [](double e) { return -.75 * std::log(.75 + .25 * e) - .25 * std::log(.25 + .75 * e); };
  EXPECT_NEAR(found.upper, bound(std::exp(-9)), 1e-14);
  EXPECT_NEAR(found.lower, bound(std::exp(-2.25)), 1e-14);
}

TEST(NoiseBounds, Errors) {
  EXPECT_THROW(noisy_layer_input_information(Table{{0}}, 0), Error);
  EXPECT_THROW(noisy_layer_input_information(Table{}, 1), Error);
  EXPECT_THROW(noisy_layer_label_information(Table{{0}, {1}}, std::vector<std::int64_t>{0}, 1), Error);
}

}  // namespace
}  // namespace isentropic::information
