// The bottleneck solver against exactly known limits, an independent solver's curve, and the laws of the curve.
#include "isentropic/information/bottleneck.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "information/joints.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/critical_beta.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::information {
namespace {

Table random_encoder(std::size_t rows, std::size_t codes, Random* random) {
  Table out(rows, codes);
  for (std::size_t x = 0; x < rows; ++x) std::ranges::copy(random->probabilities(codes), out.row(x).begin());
  return out;
}

Table identity(std::size_t n) {
  Table out(n, n);
  for (std::size_t x = 0; x < n; ++x) out(x, x) = 1;
  return out;
}

TEST(Bottleneck, OneBitForEveryBetaBelowOne) {
  const std::vector<double> betas = {0.1, 0.5, 0.9, 0.99, 1.01, 3};
  const BottleneckCurve curve = bottleneck_curve({{0.5, 0}, {0, 0.5}}, betas);
  for (const BottleneckCode& point : curve.points) {
    EXPECT_NEAR(point.information_x, point.beta < 1 ? std::log(2) : 0, 1e-12) << point.beta;
    EXPECT_NEAR(point.information_y, point.beta < 1 ? std::log(2) : 0, 1e-12) << point.beta;
  }
  EXPECT_NEAR(curve.entropy_x, std::log(2), 1e-15);
}

// The 8 x 3 problem, against an independent solver with annealing and ten random starts.
TEST(Bottleneck, CurveOfTheEightByThreeProblem) {
  const std::vector<double> betas = {.001, .01, .05, .1, .2, .3, .4, .5, .55, .58, .60, .62, .63, .65, 1, 2};
  const std::vector<double> x = {2.0504, 1.8978, 1.6937, 1.1137, .8109, .4988, .4210, .2994,
                                 .2119,  .1474,  .0980,  .0426,  .0123, 0,     0,     0};
  const std::vector<double> y = {.4253, .4241, .4181, .3755, .3341, .2547, .2274, .1722,
                                 .1262, .0897, .0605, .0267, .0078, 0,     0,     0};
  const BottleneckCurve curve = bottleneck_curve(eight_by_three(), betas);
  EXPECT_NEAR(curve.information, .42527, 5e-6);
  EXPECT_NEAR(curve.entropy_x, 2.05038, 5e-6);
  ASSERT_EQ(curve.points.size(), betas.size());
  for (std::size_t i = 0; i < betas.size(); ++i) {
    EXPECT_NEAR(curve.points[i].information_x, x[i], 1e-4) << "beta " << betas[i];
    EXPECT_NEAR(curve.points[i].information_y, y[i], 1e-4) << "beta " << betas[i];
    const BottleneckCode& point = curve.points[i];
    // The reported numbers are those of the reported encoder.
    const BottleneckTerms terms = bottleneck_terms(eight_by_three(), point.encoder);
    EXPECT_NEAR(terms.rate, point.information_x, 1e-12);
    EXPECT_NEAR(terms.information_y, point.information_y, 1e-12);
  }
  EXPECT_NEAR(curve.points[0].information_y, curve.information, 1e-5);
  const BottleneckDefects found = defects(curve);
  EXPECT_LT(found.monotone, 1e-6);
  EXPECT_LT(found.slope, 1e-3);
  EXPECT_LT(found.ceiling, 1e-12);
  EXPECT_LT(found.iteration, 1e-10);
}

TEST(Bottleneck, CollapsesAtTheContractionCoefficientNotAtTheCorrelation) {
  const CriticalBeta critical = critical_beta(eight_by_three());
  const std::vector<double> betas = {0.5 * critical.global, 0.9 * critical.global,
                                     0.5 * (critical.local + critical.global), 0.99 * critical.global,
                                     1.02 * critical.global};
  const BottleneckCurve curve = bottleneck_curve(eight_by_three(), betas);
  EXPECT_GT(curve.points[2].information_x, 1e-2);  // above rho^2 the constant code is not yet optimal
  EXPECT_GT(curve.points[2].objective, 1e-6);
  EXPECT_GT(curve.points[3].information_x, 1e-3);
  EXPECT_LT(curve.points[4].information_x, 1e-9);
}

// Below the threshold the constant code is suboptimal on any joint. Annealing alone misses that for one in 150.
TEST(Bottleneck, SomethingIsKeptBelowTheThreshold) {
  Random random(9);
  for (double share : {.9, .99})
    for (std::size_t trial = 0; trial < 150; ++trial) {
      const std::size_t nx = 3 + trial % 5, ny = 2 + trial % 3;
      std::vector<double> p = random.probabilities(nx * ny);
      double sum = 0;
      for (double& v : p) sum += v = v * v * v;
      for (double& v : p) v /= sum;
      const Table joint(nx, ny, p);
      const std::vector<double> alone = {share * critical_beta(joint).global};
      EXPECT_GT(bottleneck_curve(joint, alone, {.random_starts = 0}).points[0].objective, 1e-10) << trial;
    }
}

// Betas requested one at a time, far apart: the same results as on the whole curve.
TEST(Bottleneck, EveryBetaAloneIsFound) {
  const double rows[][3] = {{.1, 1.1137, .3755}, {.5, .2994, .1722}, {.60, .0980, .0605}, {.63, .0123, .0078}};
  for (const auto& [beta, x, y] : rows) {
    const std::vector<double> alone = {beta};
    const BottleneckCurve curve = bottleneck_curve(eight_by_three(), alone, {.random_starts = 0});
    EXPECT_NEAR(curve.points[0].information_x, x, 1e-4) << beta;
    EXPECT_NEAR(curve.points[0].information_y, y, 1e-4) << beta;
  }
}

TEST(Bottleneck, SmallBetaFromTheIdentityKeepsEverything) {
  const Table joint = eight_by_three();
  const BottleneckCode annealed = iterate_bottleneck(joint, 1e-4, identity(8));
  EXPECT_NEAR(annealed.information_y, mutual_information(joint), 1e-6);
  // Random starts fall short, .408 on average at beta = 1e-3: hence the annealing.
  Random random(2);
  double sum = 0;
  for (int s = 0; s < 20; ++s) {
    const BottleneckCode code = iterate_bottleneck(joint, 1e-3, random_encoder(8, 8, &random));
    EXPECT_LT(code.information_y, mutual_information(joint));
    EXPECT_LT(code.largest_decrease, 1e-10);
    sum += code.information_y;
  }
  EXPECT_NEAR(sum / 20, .408, .01);
}

TEST(Bottleneck, FunctionOfXGivesAStraightLine) {
  // Y = X / 2 for five values of X.
  Table joint(5, 3);
  const std::vector<double> px = {.1, .25, .2, .15, .3};
  for (std::size_t x = 0; x < 5; ++x) joint(x, x / 2) = px[x];
  const std::vector<double> betas = {.1, .5, .9, .99, 1.01};
  const BottleneckCurve curve = bottleneck_curve(joint, betas);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(curve.points[i].information_y, curve.entropy_y, 1e-6);
    EXPECT_NEAR(curve.points[i].information_x, curve.entropy_y, 1e-6);
  }
  EXPECT_NEAR(curve.points[4].information_x, 0, 1e-12);
  for (double share : {0.0, 0.2, 0.5, 0.9, 1.0})
    EXPECT_NEAR(curve.information_y_at(share * curve.entropy_y), share * curve.entropy_y, 1e-6);
  EXPECT_NEAR(curve.information_y_at(0.5 * (curve.entropy_x + curve.entropy_y)), curve.entropy_y, 1e-6);
  EXPECT_NEAR(curve.information_y_at(100), curve.entropy_y, 1e-12);
}

TEST(Bottleneck, IndependentVariablesAndUnusedValues) {
  const std::vector<double> betas = {.05, .5};
  const BottleneckCurve independent = bottleneck_curve({{.12, .28}, {.18, .42}}, betas);
  for (const BottleneckCode& point : independent.points) EXPECT_NEAR(point.information_x, 0, 1e-6);
  // Values of X and Y that never occur have no effect, and their encoder rows are still distributions.
  const Table joint{{.4, .1}, {.1, .4}}, padded{{.4, 0, .1}, {0, 0, 0}, {.1, 0, .4}};
  const BottleneckCurve a = bottleneck_curve(joint, betas), b = bottleneck_curve(padded, betas);
  for (std::size_t i = 0; i < betas.size(); ++i) {
    EXPECT_NEAR(a.points[i].information_x, b.points[i].information_x, 1e-7);
    EXPECT_EQ(b.points[i].encoder.rows, 3u);
    EXPECT_NO_THROW(bottleneck_terms(padded, b.points[i].encoder));
  }
  EXPECT_EQ(iterate_bottleneck(padded, .1, identity(3)).encoder.rows, 3u);
}

TEST(Bottleneck, LawsOfTheCurveOnRandomJoints) {
  Random random(7);
  for (int trial = 0; trial < 6; ++trial) {
    const std::size_t nx = 3 + static_cast<std::size_t>(trial), ny = 2 + static_cast<std::size_t>(trial % 4);
    std::vector<double> p = random.probabilities(nx * ny);
    for (double& v : p) v = v * v;
    double sum = 0;
    for (double v : p) sum += v;
    for (double& v : p) v /= sum;
    const Table joint(nx, ny, p);
    const double critical = critical_beta(joint).global;
    std::vector<double> betas;
    for (double s : {.01, .05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, 1.05}) betas.push_back(s * critical);
    const BottleneckCurve curve = bottleneck_curve(joint, betas);
    const BottleneckDefects found = defects(curve);
    EXPECT_LT(found.monotone, 1e-6) << trial;
    EXPECT_LT(found.slope, 1e-3) << trial;
    EXPECT_LT(found.ceiling, 1e-12) << trial;
    EXPECT_LT(found.iteration, 1e-10) << trial;
    EXPECT_GT(curve.points[11].information_x, 1e-4) << trial;
    EXPECT_LT(curve.points[12].information_x, 1e-9) << trial;
  }
}

BottleneckCode code_at(double beta, double x, double y) {
  BottleneckCode out;
  out.beta = beta, out.information_x = x, out.information_y = y;
  return out;
}

// Each law is broken once, by a known amount.
TEST(Bottleneck, DefectsByHand) {
  BottleneckCurve curve;
  curve.information = 1;
  curve.points = {code_at(.2, 2, .9), code_at(.5, 1, .6)};  // slope .3, between the betas
  EXPECT_EQ(defects(curve).slope, 0);
  EXPECT_EQ(defects(curve).monotone, 0);
  curve.points.push_back(code_at(.6, .5, .65));  // I_Y rises by .05, slope -.1 but must be >= .5; I_Y = I_X + .15
  curve.points[1].largest_decrease = .01;
  const BottleneckDefects found = defects(curve);
  EXPECT_NEAR(found.monotone, .05, 1e-15);
  EXPECT_NEAR(found.slope, .6, 1e-15);
  EXPECT_NEAR(found.ceiling, .15, 1e-15);
  EXPECT_EQ(found.iteration, .01);
  curve.points = {code_at(.2, 2, 1.3), code_at(.5, 1, .6)};  // slope .7 but must be <= .5; I_Y = I(X;Y) + .3
  EXPECT_NEAR(defects(curve).slope, .2, 1e-15);
  EXPECT_NEAR(defects(curve).ceiling, .3, 1e-15);
  curve.points[0].entropy = 3;
  EXPECT_EQ(curve.price(curve.points[0]), 2);
  curve.kind = BottleneckKind::deterministic;
  EXPECT_EQ(curve.price(curve.points[0]), 3);
}

// The hull of (0, 0), (1, .4), (2, .5): a point below it has no effect.
TEST(Bottleneck, SharedTimeByHand) {
  BottleneckCurve curve;
  curve.information = .5, curve.entropy_x = 2;
  EXPECT_NEAR(curve.information_y_at(1), .25, 1e-15);
  curve.points = {code_at(.1, 1.5, .42), code_at(.3, 1, .4)};
  EXPECT_NEAR(curve.information_y_at(.5), .2, 1e-15);
  EXPECT_NEAR(curve.information_y_at(1.5), .45, 1e-15);
  EXPECT_EQ(curve.information_y_at(3), .5);
}

TEST(Bottleneck, ProgressRisesToOne) {
  const std::vector<double> betas = {.1, .5};
  std::vector<double> told;
  bottleneck_curve({{.4, .1}, {.1, .4}}, betas, {}, [&](double share) { told.push_back(share); });
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_NEAR(told.back(), 1, 1e-12);
}

// No partition of X beats the deterministic code: all 4140 partitions of eight values are tried.
TEST(Bottleneck, DeterministicCodeIsTheBestPartition) {
  const Table joint = eight_by_three();
  const std::vector<double> betas = {.01, .05, .1, .2, .3, .4, .5, .6};
  std::vector<double> best(betas.size(), 0.0);
  std::vector<std::size_t> block(8, 0);
  const auto evaluate = [&] {
    Table merged(8, 3);
    for (std::size_t x = 0; x < 8; ++x)
      for (std::size_t y = 0; y < 3; ++y) merged(block[x], y) += joint(x, y);
    for (std::size_t i = 0; i < betas.size(); ++i)
      best[i] = std::max(best[i], mutual_information(merged) - betas[i] * entropy(row_marginal(merged)));
  };
  const auto enumerate = [&](const auto& self, std::size_t x, std::size_t blocks) -> void {
    if (x == 8) return evaluate();
    for (std::size_t b = 0; b <= blocks; ++b) {
      block[x] = b;
      self(self, x + 1, std::max(blocks, b + 1));
    }
  };
  enumerate(enumerate, 0, 0);
  const BottleneckCurve curve =
      bottleneck_curve(joint, betas, {.kind = BottleneckKind::deterministic, .random_starts = 20});
  for (std::size_t i = 0; i < betas.size(); ++i) {
    EXPECT_NEAR(curve.points[i].objective, best[i], 1e-12) << "beta " << betas[i];
    EXPECT_NEAR(curve.points[i].entropy, curve.points[i].information_x, 1e-12);  // Z is a function of X
    EXPECT_TRUE(curve.points[i].converged);
  }
  EXPECT_LT(defects(curve).iteration, 1e-12);
}

// J = H(Y) + E log p(y|z) - beta E KL; the expectations alone fall short of it by H(Y), for any encoder.
TEST(Bottleneck, ObjectiveAsExpectations) {
  const Table joint = eight_by_three();
  const double h = entropy(column_marginal(joint));
  EXPECT_NEAR(h, .959236, 5e-7);
  Random random(4);
  for (int trial = 0; trial < 200; ++trial) {
    const Table encoder = random_encoder(8, 4, &random);
    const BottleneckTerms terms = bottleneck_terms(joint, encoder);
    Table zx(8, 4), zy(4, 3);
    const std::vector<double> px = row_marginal(joint);
    for (std::size_t x = 0; x < 8; ++x)
      for (std::size_t z = 0; z < 4; ++z) {
        zx(x, z) = px[x] * encoder(x, z);
        for (std::size_t y = 0; y < 3; ++y) zy(z, y) += joint(x, y) * encoder(x, z);
      }
    const double exact = mutual_information(zy) - 0.3 * mutual_information(zx);
    EXPECT_NEAR(terms.objective(0.3), exact, 1e-12);
    EXPECT_NEAR(exact - (terms.log_likelihood - 0.3 * terms.rate), h, 1e-12);
  }
}

TEST(Bottleneck, VariationalFormIsALowerBound) {
  const Table joint = eight_by_three();
  Random random(5);
  for (int trial = 0; trial < 5000; ++trial) {
    const Table encoder = random_encoder(8, 4, &random), decoder = random_encoder(4, 3, &random);
    const std::vector<double> prior = random.probabilities(4);
    EXPECT_LE(variational_bottleneck(joint, encoder, decoder, prior, .3),
              bottleneck_terms(joint, encoder).objective(.3) + 1e-12);
  }
  // Tight for the code's own decoder and prior.
  const Table encoder = random_encoder(8, 4, &random);
  std::vector<double> pz(4, 0.0);
  Table decoder(4, 3);
  for (std::size_t z = 0; z < 4; ++z) {
    for (std::size_t x = 0; x < 8; ++x)
      for (std::size_t y = 0; y < 3; ++y)
        decoder(z, y) += joint(x, y) * encoder(x, z), pz[z] += joint(x, y) * encoder(x, z);
    for (double& p : decoder.row(z)) p /= pz[z];
  }
  EXPECT_NEAR(variational_bottleneck(joint, encoder, decoder, pz, .3), bottleneck_terms(joint, encoder).objective(.3),
              1e-12);
  const Table blind{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
  EXPECT_EQ(variational_bottleneck(joint, encoder, blind, pz, .3), -std::numeric_limits<double>::infinity());
}

TEST(Bottleneck, RefusesBadInput) {
  const Table joint{{.25, .25}, {.25, .25}};
  const std::vector<double> good = {.5}, falling = {.5, .4}, twice = {.5, .5}, zero = {0};
  EXPECT_THROW(bottleneck_curve({{.5, .6}}, good), Error);
  EXPECT_THROW(bottleneck_curve({{-.5, 1.5}}, good), Error);
  EXPECT_THROW(bottleneck_curve(joint, falling), Error);
  EXPECT_THROW(bottleneck_curve(joint, twice), Error);
  EXPECT_THROW(bottleneck_curve(joint, zero), Error);
  EXPECT_THROW(iterate_bottleneck(joint, .5, Table(3, 2, .5)), Error);
  EXPECT_THROW(iterate_bottleneck(joint, .5, Table(2, 2, .6)), Error);
  EXPECT_THROW(bottleneck_terms(joint, Table(2, 0)), Error);
  EXPECT_THROW(variational_bottleneck(joint, Table(2, 2, .5), Table(3, 2, .5), good, .5), Error);
}

}  // namespace
}  // namespace isentropic::information
