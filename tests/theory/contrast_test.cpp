// NCE and InfoNCE against plain sums and numerical derivatives.
#include "isentropic/theory/contrast.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::theory {
namespace {

using namespace information;

using Vector = std::vector<double>;

const Vector kData = {0.5, 0.3, 0.2}, kModel = {0.25, 0.35, 0.4}, kNoise = {0.2, 0.2, 0.6};

double derivative(const std::function<double(double)>& f, double step = 1e-6) {
  return (f(step) - f(-step)) / (2 * step);
}

// The plain binary cross-entropy, term by term.
double cross_entropy(const Vector& data, const Vector& model, const Vector& noise, double k) {
  double loss = 0;
  for (std::size_t x = 0; x < data.size(); ++x) {
    const double p = model[x] / (model[x] + k * noise[x]);
    loss -= data[x] * std::log(p) + k * noise[x] * std::log(1 - p);
  }
  return loss;
}

TEST(NceTest, ValuesByHand) {
  EXPECT_NEAR(nce_loss(kData, kData, kData, 1), 2 * std::log(2), 1e-15);
  EXPECT_DOUBLE_EQ(nce_posterior(0.5, 0.2, 5), 1.0 / 3);
  EXPECT_DOUBLE_EQ(nce_posterior(0.2, 0.6, 5), 0.0625);
}

TEST(NceTest, LossIsTheBinaryCrossEntropy) {
  for (double k : {0.5, 1.0, 7.0, 100.0})
    EXPECT_NEAR(nce_loss(kData, kModel, kNoise, k), cross_entropy(kData, kModel, kNoise, k), 1e-12);
}

TEST(NceTest, GradientIsTheSlopeOfTheLoss) {
  for (double k : {1.0, 20.0}) {
    const Vector gradient = nce_gradient(kData, kModel, kNoise, k);
    for (std::size_t x = 0; x < kData.size(); ++x) {
      const double slope = derivative([&](double step) {
        Vector moved = kModel;
        moved[x] *= std::exp(step);
        return nce_loss(kData, moved, kNoise, k);
      });
      EXPECT_NEAR(gradient[x], slope, 1e-8);
    }
  }
}

TEST(NceTest, ExpansionLeavesTheSquareOfOneOverK) {
  const NceExpansion expansion = nce_expansion(kData, kModel, kNoise);
  double previous = 0;
  for (double k : {100.0, 1000.0}) {
    const double rest =
        nce_loss(kData, kModel, kNoise, k) - std::log(k) - expansion.constant - expansion.first_order / k;
    if (previous != 0) {
      EXPECT_NEAR(previous / rest, 100, 3);
    }
    previous = rest;
  }
}

// The variance as a sandwich of numerical derivatives, without any simplification.
TEST(NceTest, VarianceIsTheSandwich) {
  const auto model = [](double a) {
    Vector p = {1, std::exp(a), std::exp(2 * a)};
    const double sum = p[0] + p[1] + p[2];
    for (double& x : p) x /= sum;
    return p;
  };
  const double a = 0.7, k = 5;
  const Vector p = model(a), noise = {0.6, 0.3, 0.1};
  Vector score, on_data, on_noise;
  for (std::size_t x = 0; x < 3; ++x) {
    score.push_back(derivative([&](double step) { return std::log(model(a + step)[x]); }));
    const auto posterior = [&](double step) { return nce_posterior(model(a + step)[x], noise[x], k); };
    on_data.push_back(derivative([&](double step) { return -std::log(posterior(step)); }));
    on_noise.push_back(derivative([&](double step) { return -std::log(1 - posterior(step)); }));
  }
  const auto variance = [](const Vector& law, const Vector& f) {
    double mean = 0, square = 0;
    for (std::size_t x = 0; x < f.size(); ++x) mean += law[x] * f[x], square += law[x] * f[x] * f[x];
    return square - mean * mean;
  };
  // A larger step: the second difference of a loss near 1 has 1e-16 / step^2 of noise.
  const auto loss = [&](double step) { return nce_loss(p, model(a + step), noise, k); };
  const double curvature = (loss(1e-4) - 2 * loss(0) + loss(-1e-4)) / 1e-8;
  const double sandwich = (variance(p, on_data) + k * variance(noise, on_noise)) / (curvature * curvature);
  EXPECT_NEAR(nce_variance(p, score, noise, k), sandwich, 1e-5);
  EXPECT_NEAR(nce_variance(p, score, noise, std::numeric_limits<double>::infinity()), 1 / variance(p, score), 1e-12);
  // Noise distributed like the data costs a factor of 1 + 1/k.
  EXPECT_NEAR(nce_variance(p, score, p, k), (1 + 1 / k) / variance(p, score), 1e-9);
}

TEST(InfoNceTest, GradientsAreTheSlopesOfTheLoss) {
  Random random(3);
  const double tau = 0.3;
  Vector query = random.normals(4);
  Table keys(5, 4, random.normals(20));
  const auto loss = [&] {
    double sum = 0, positive = 0;
    for (std::size_t j = 0; j < 5; ++j) {
      double score = 0;
      for (std::size_t c = 0; c < 4; ++c) score += query[c] * keys(j, c) / tau;
      sum += std::exp(score);
      if (j == 2) positive = score;
    }
    return std::log(sum) - positive;
  };
  const auto slope = [&](double* x) {
    const double at = *x;
    const double out = derivative([&](double step) {
      *x = at + step;
      return loss();
    });
    *x = at;
    return out;
  };
  const ContrastGradients gradients = contrast_gradients(query, keys, 2, tau);
  for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(gradients.query[c], slope(&query[c]), 1e-7);
  for (std::size_t x = 0; x < 20; ++x) EXPECT_NEAR(gradients.key.values[x], slope(&keys.values[x]), 1e-7);
}

// A positive far ahead pulls by 1 - P_+ = e^-60, which subtracting P_+ from 1 would lose.
TEST(InfoNceTest, GradientOfAWonContest) {
  const ContrastGradients won = contrast_gradients(Vector{2}, {{30}, {0}}, 0, 1);
  EXPECT_NEAR(won.key(0, 0) / (-2 * std::exp(-60.0)), 1, 1e-12);
}

TEST(InfoNceTest, GradientNormOfOrthogonalParts) {
  const Vector cosines = {0.9, 0.5, -0.2, 0.1};
  Vector query(5, 0);
  query[0] = 1;
  Table keys(4, 5);
  for (std::size_t j = 0; j < 4; ++j) keys(j, 0) = cosines[j], keys(j, j + 1) = std::sqrt(1 - cosines[j] * cosines[j]);
  for (double tau : {0.05, 0.2, 3.0}) {
    double square = 0;
    for (double x : contrast_gradients(query, keys, 0, tau).query) square += x * x;
    EXPECT_NEAR(contrast_gradient_norm(cosines, 0, tau), std::sqrt(square), 1e-12);
  }
}

TEST(InfoNceTest, LimitIsTheInformationLessADivergence) {
  Random random(5);
  const Table joint(3, 4, random.probabilities(12)), critic(3, 4, random.normals(12));
  const Vector anchors = row_marginal(joint), candidates = column_marginal(joint);
  double expected = mutual_information(joint);
  Table pmi(3, 4);
  for (std::size_t y = 0; y < 3; ++y) {
    Vector truth(4), believed(4);
    double sum = 0;
    for (std::size_t x = 0; x < 4; ++x) {
      truth[x] = joint(y, x) / anchors[y];
      sum += believed[x] = candidates[x] * std::exp(critic(y, x));
      pmi(y, x) = std::log(truth[x] / candidates[x]) + static_cast<double>(y);  // + c(anchor)
    }
    for (double& p : believed) p /= sum;
    expected -= anchors[y] * kl_divergence(truth, believed);
  }
  EXPECT_NEAR(info_nce_limit(joint, critic), expected, 1e-12);
  EXPECT_NEAR(info_nce_limit(joint, pmi), mutual_information(joint), 1e-12);
  EXPECT_NEAR(info_nce_limit(joint, Table(3, 4, 0.7)), 0, 1e-12);
}

// The Gaussian pair discretised on a fine grid.
TEST(InfoNceTest, GaussianLimitByQuadrature) {
  const double rho = 0.6, width = 0.15;  // up to 9 deviations: the critics move the mass outwards
  const std::size_t n = 121;
  for (const auto& [cross, square] : {std::pair{0.5, 0.0}, {-1.0, 0.0}, {0.4, 0.1}, {0.9375, -0.28125}}) {
    Table joint(n, n), critic(n, n);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const double y = width * (static_cast<double>(i) - 60), x = width * (static_cast<double>(j) - 60);
        sum += joint(i, j) = std::exp(-(x * x - 2 * rho * x * y + y * y) / (2 * (1 - rho * rho)));
        critic(i, j) = cross * x * y + square * x * x;
      }
    for (double& p : joint.values) p /= sum;
    EXPECT_NEAR(gaussian_info_nce_limit(rho, cross, square), info_nce_limit(joint, critic), 1e-5);
  }
  EXPECT_NEAR(gaussian_info_nce_limit(rho, 0.9375, -0.28125), -std::log(1 - rho * rho) / 2, 1e-12);
  for (double cross : {0.0, 1.0})
    EXPECT_EQ(gaussian_info_nce_limit(rho, cross, 0.5), -std::numeric_limits<double>::infinity());
}

TEST(HighTemperatureTest, ErrorFallsWithTheNextPower) {
  const Vector scores = {-1, 0.5, 2, 0.3};
  for (int order : {1, 2}) {
    const auto error = [&](double tau) {
      double sum = 0, largest = 0;
      for (double s : scores) sum += std::exp(s / tau);
      const Vector p = high_temperature_softmax(scores, tau, order);
      for (std::size_t j = 0; j < 4; ++j) largest = std::max(largest, std::abs(p[j] - std::exp(scores[j] / tau) / sum));
      return largest;
    };
    EXPECT_NEAR(std::log10(error(100) / error(1000)), order + 1, 0.03);
  }
}

TEST(ContrastTest, BadInputIsNamed) {
  EXPECT_THROW(nce_loss(kData, kModel, kNoise, 0), Error);
  EXPECT_THROW(nce_loss(kData, Vector{0.5, 0.5}, kNoise, 1), Error);
  EXPECT_THROW(nce_loss(kData, kModel, Vector{0.5, 0.5, 0}, 1), Error);
  EXPECT_THROW(contrast_gradients(Vector{1}, Table(2, 1), 2, 1), Error);
  EXPECT_THROW(contrast_gradient_norm(Vector{1, 0}, 0, 0), Error);
  EXPECT_THROW(info_nce_limit(Table(2, 2, 0.25), Table(2, 3)), Error);
  EXPECT_THROW(gaussian_info_nce_limit(1, 0, 0), Error);
  EXPECT_THROW(high_temperature_softmax(Vector{1}, 1, 3), Error);
}

}  // namespace
}  // namespace isentropic::theory
