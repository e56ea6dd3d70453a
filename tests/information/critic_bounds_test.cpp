// Critic bounds against closed forms, a table of correlated Gaussians, and controls that must break them.
#include "isentropic/information/critic_bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::information {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// X ~ N(0, 1)^d, Y = rho X + sqrt(1 - rho^2) noise: I = -d/2 log(1 - rho^2).
struct Gaussians {
  double rho;
  std::size_t d;

  double information() const { return -0.5 * static_cast<double>(d) * std::log(1 - rho * rho); }

  // A batch of pairs and its table of pointwise mutual informations, plus `shift`.
  Table pmi(std::size_t n, Random* random, double shift = 0) const {
    const std::vector<double> x = random->normals(n * d);
    std::vector<double> y = random->normals(n * d);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = rho * x[i] + std::sqrt(1 - rho * rho) * y[i];
    Table out(n, n, information() + shift);
    const double rest = 1 - rho * rho;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < d; ++k) {
          const double a = y[i * d + k], b = x[j * d + k];
          out(i, j) += (rho * a * b - 0.5 * rho * rho * (a * a + b * b)) / rest;
        }
    return out;
  }
};

struct Estimate {
  double mean = 0, error = 0;
};

template <class Value>
Estimate over_batches(std::size_t batches, const Value& value) {
  double sum = 0, squares = 0;
  for (std::size_t b = 0; b < batches; ++b) {
    const double v = value();
    sum += v;
    squares += v * v;
  }
  const double n = static_cast<double>(batches), mean = sum / n;
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / n)};
}

TEST(CriticBounds, ByHand) {
  const Table equal(4, 4, 1.7);
  EXPECT_NEAR(info_nce_bound(equal).value, 0, 1e-15);
  EXPECT_NEAR(donsker_varadhan_bound(equal).value, 0, 1e-15);
  EXPECT_NEAR(smile_estimate(Table(4, 4, 0.3), 5).value, 0, 1e-15);
  EXPECT_NEAR(nwj_bound(Table(3, 3, 1.0)).value, 0, 1e-15);
  EXPECT_NEAR(nwj_bound(Table(3, 3, 0.0)).value, -std::exp(-1), 1e-15);
  Table sharp(4, 4, 0.0);
  for (std::size_t i = 0; i < 4; ++i) sharp(i, i) = 800;
  EXPECT_NEAR(info_nce_bound(sharp).value, std::log(4), 1e-12);
  EXPECT_DOUBLE_EQ(info_nce_bound(sharp).ceiling, std::log(4));
  EXPECT_NEAR(donsker_varadhan_bound(sharp).value, 800, 1e-9);
  // Two pairs, off-diagonal 0 and log 3: DV = (1 + 2)/2 - log((1 + 3)/2).
  const Table two{{1, 0}, {std::log(3), 2}};
  EXPECT_NEAR(donsker_varadhan_bound(two).value, 1.5 - std::log(2), 1e-15);
  EXPECT_NEAR(nwj_bound(two).value, 1.5 - 2 / std::exp(1), 1e-15);
  EXPECT_NEAR(info_nce_bound(two).value,
              std::log(2) + 0.5 * (1 - std::log(std::exp(1) + 1) + 2 - std::log(3 + std::exp(2))), 1e-15);
}

TEST(CriticBounds, TheirVariantsByHand) {
  // Off-diagonal -3 and 3 are clipped to -1 and 1; the diagonal is left alone.
  EXPECT_NEAR(smile_estimate({{4, -3}, {3, 2}}, 1).value, 3 - std::log(std::cosh(1)), 1e-15);
  // Means of e^f off the diagonal: 2, then 6; the newest counts a quarter: 3.
  MovingPartition average(.25);
  const double one = std::log(2), other = std::log(6);
  EXPECT_NEAR(average.update({{1, one}, {one, 2}}).value, 1.5 - one, 1e-15);
  EXPECT_NEAR(average.update({{1, other}, {other, 2}}).value, 1.5 - std::log(3), 1e-15);
  EXPECT_NEAR(average.log_average(), std::log(3), 1e-15);
  EXPECT_NO_THROW(MovingPartition(1));
  // A discriminator that is right with odds of 3 : 1 everywhere: log 2 + log(3/4).
  const double odds = std::log(3);
  EXPECT_NEAR(jensen_shannon_bound({{odds, -odds}, {-odds, odds}}).divergence, std::log(1.5), 1e-15);
  EXPECT_NEAR(jensen_shannon_bound(Table(3, 3, 0.0)).divergence, 0, 1e-15);
  EXPECT_EQ(barber_agakov_bound(-1, std::vector<double>{2, 1}, Likelihood::density).value, .5);
  EXPECT_EQ(barber_agakov_bound(-1, std::vector<double>{2, 1}, Likelihood::density).ceiling, kInfinity);
}

TEST(CriticBounds, SayWhatTheyAre) {
  const Table scores{{1, 0, 0.5}, {0, 1, -1}, {0.2, 0, 3}};
  const std::vector<double> baseline(3, 0.0);
  EXPECT_EQ(info_nce_bound(scores).validity, BoundValidity::lower_bound);
  EXPECT_EQ(nwj_bound(scores).validity, BoundValidity::lower_bound);
  EXPECT_EQ(tuba_bound(scores, baseline).validity, BoundValidity::lower_bound);
  EXPECT_EQ(donsker_varadhan_bound(scores).validity, BoundValidity::lower_bound_in_the_limit);
  EXPECT_EQ(smile_estimate(scores, 1).validity, BoundValidity::estimate);
  EXPECT_EQ(nwj_bound(scores).ceiling, kInfinity);
  EXPECT_EQ(interpolated_bound(scores, baseline, .5).validity, BoundValidity::lower_bound);
  EXPECT_EQ(MovingPartition(.1).update(scores).validity, BoundValidity::lower_bound_in_the_limit);
}

// 1 + J[f - log b] - M[e^f / b] with b = alpha (mean of e^f over all candidates but one) + (1 - alpha) a(y). The
// omitted candidate is any but the positive for joint pairs, and the positive for independent pairs.
double mixed_by_definition(const Table& scores, const std::vector<double>& log_baseline, double alpha) {
  const std::size_t n = scores.rows;
  const double pairs = static_cast<double>(n * (n - 1));
  double value = 1;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t l = 0; l < n; ++l) {
      double mean = 0;
      for (std::size_t j = 0; j < n; ++j)
        if (j != l) mean += std::exp(scores(i, j)) / static_cast<double>(n - 1);
      const double baseline = alpha * mean + (1 - alpha) * std::exp(log_baseline[i]);
      if (l != i) value += (scores(i, i) - std::log(baseline)) / pairs;
      for (std::size_t j = 0; l == i && j < n; ++j)
        if (j != i) value -= std::exp(scores(i, j)) / baseline / pairs;
    }
  return value;
}

// The relations between the bounds.
TEST(CriticBounds, FamilyRelations) {
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const Table scores(6, 6, random.normals(36, 2));
    const std::vector<double> ones(6, 1.0), baseline = random.normals(6);
    EXPECT_NEAR(tuba_bound(scores, ones).value, nwj_bound(scores).value, 1e-12);
    EXPECT_NEAR(interpolated_bound(scores, baseline, 0).value, tuba_bound(scores, baseline).value, 1e-12);
    // log z <= z/e: Donsker-Varadhan is never below NWJ on the same pairs.
    EXPECT_GE(donsker_varadhan_bound(scores).value, nwj_bound(scores).value - 1e-12);
    // A clip that clips nothing has no effect.
    EXPECT_NEAR(smile_estimate(scores, 100).value, donsker_varadhan_bound(scores).value, 1e-12);
    EXPECT_LE(info_nce_bound(scores).value, std::log(6));
    // alpha = 1: InfoNCE over all candidates but one, averaged over the omitted one.
    double expected = 0;
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t l = 0; l < 6; ++l) {
        if (l == i) continue;
        double sum = 0;
        for (std::size_t j = 0; j < 6; ++j)
          if (j != l) sum += std::exp(scores(i, j));
        expected += (scores(i, i) - std::log(sum / 5)) / 30;
      }
    const CriticBound whole = interpolated_bound(scores, baseline, 1);
    EXPECT_NEAR(whole.value, expected, 1e-12);
    EXPECT_DOUBLE_EQ(whole.ceiling, std::log(5));
    for (double alpha : {0.01, 0.3, 0.9}) {
      const CriticBound mixed = interpolated_bound(scores, baseline, alpha);
      EXPECT_LE(mixed.value, mixed.ceiling);
      EXPECT_NEAR(mixed.ceiling, 1 + std::log(5 / alpha), 1e-12);
      EXPECT_NEAR(mixed.value, mixed_by_definition(scores, baseline, alpha), 1e-12);
    }
    // The Jensen-Shannon estimate is NWJ of the critic plus one.
    Table raised = scores;
    for (double& x : raised.values) x += 1;
    EXPECT_NEAR(jensen_shannon_bound(scores).mutual_information.value, nwj_bound(raised).value, 1e-12);
    EXPECT_LE(jensen_shannon_bound(scores).divergence, std::log(2));
  }
}

// InfoNCE with the optimal critic: values for batches of N candidates from an independent Monte Carlo run with about
// 20000 anchors, standard error up to .015 (.03 where few batches fit).
struct Cell {
  double rho;
  std::size_t d, n;
  double value;
};

class InfoNceTable : public testing::TestWithParam<Cell> {};

TEST_P(InfoNceTable, Reproduced) {
  const auto [rho, d, n, value] = GetParam();
  const Gaussians pair{rho, d};
  Random random(11);
  const std::size_t batches = std::max<std::size_t>(6, 16384 / n);
  const Estimate found = over_batches(batches, [&] { return info_nce_bound(pair.pmi(n, &random)).value; });
  EXPECT_NEAR(found.mean, value, 4 * found.error + (n >= 1024 ? 0.03 : 0.015));
  EXPECT_LE(found.mean, pair.information() + 4 * found.error);
  EXPECT_LE(found.mean, std::log(static_cast<double>(n)));
}

INSTANTIATE_TEST_SUITE_P(CorrelatedGaussians, InfoNceTable,
                         testing::Values(Cell{.5, 1, 2, .067}, Cell{.5, 1, 32, .143}, Cell{.9, 1, 2, .339},
                                         Cell{.9, 1, 4, .551}, Cell{.9, 1, 8, .688}, Cell{.9, 1, 16, .758},
                                         Cell{.9, 1, 64, .810}, Cell{.9, 1, 256, .831}, Cell{.99, 1, 2, .571},
                                         Cell{.99, 1, 64, 1.872}, Cell{.9, 4, 2, .642}, Cell{.9, 4, 64, 2.836},
                                         Cell{.9, 4, 512, 3.216}, Cell{.9, 10, 2, .691}, Cell{.9, 10, 64, 4.089},
                                         Cell{.9, 10, 512, 5.882}, Cell{.9, 10, 1024, 6.382}, Cell{.95, 10, 8, 2.079},
                                         Cell{.95, 10, 512, 6.209}));

TEST(CriticBounds, OptimalCriticReachesTheInformation) {
  const Gaussians pair{.9, 1};
  Random random(5);
  const std::size_t n = 256;
  const auto check = [&](const char* what, const auto& value) {
    const Estimate found = over_batches(100, value);
    EXPECT_NEAR(found.mean, pair.information(), 4 * found.error + 0.01) << what;
    EXPECT_LT(found.error, 0.05) << what;
  };
  check("dv", [&] { return donsker_varadhan_bound(pair.pmi(n, &random)).value; });
  check("nwj", [&] { return nwj_bound(pair.pmi(n, &random, 1)).value; });
  check("js", [&] { return jensen_shannon_bound(pair.pmi(n, &random)).mutual_information.value; });
  const std::vector<double> ones(n, 0.0);
  check("tuba", [&] { return tuba_bound(pair.pmi(n, &random), ones).value; });
  check("interpolated", [&] { return interpolated_bound(pair.pmi(n, &random), ones, 0.5).value; });
  check("smile", [&] { return smile_estimate(pair.pmi(n, &random), 20).value; });
  MovingPartition average(0.1);
  check("mine", [&] { return average.update(pair.pmi(n, &random)).value; });
  EXPECT_NEAR(average.log_average(), 0, 0.1);  // E[e^PMI] = 1 over independent pairs
}

// The expectation of a bound stays below the truth, that of an estimate need not.
TEST(CriticBounds, SmileExceedsTheInformationWhereBoundsDoNot) {
  const Gaussians pair{.9, 1};
  Random random(6);
  // The critic PMI + 3: the shift cancels in every bound, but not with a clip at 1.
  const Estimate smile = over_batches(200, [&] { return smile_estimate(pair.pmi(64, &random, 3), 1).value; });
  EXPECT_GT(smile.mean, pair.information() + 5 * smile.error);
  // Donsker-Varadhan with few pairs: the logarithm of a mean of two is too low on average.
  const Estimate few = over_batches(20000, [&] { return donsker_varadhan_bound(pair.pmi(2, &random)).value; });
  EXPECT_GT(few.mean, pair.information() + 5 * few.error);
  const Estimate nwj = over_batches(20000, [&] { return nwj_bound(pair.pmi(2, &random, 1)).value; });
  EXPECT_LT(nwj.mean, pair.information() + 4 * nwj.error);
}

TEST(CriticBounds, MisspecifiedCriticsFallWithN) {
  // The cross term without the norms: measured .045 at N = 2, falling to -3.958 at 4096.
  const auto cross_only = [&](std::size_t n, Random* random) {
    const std::vector<double> x = random->normals(n);
    std::vector<double> y = random->normals(n);
    Table out(n, n);
    for (std::size_t i = 0; i < n; ++i) y[i] = .9 * x[i] + std::sqrt(1 - .81) * y[i];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) out(i, j) = .9 / .19 * y[i] * x[j];
    return out;
  };
  Random random(8);
  const Estimate two = over_batches(10000, [&] { return info_nce_bound(cross_only(2, &random)).value; });
  const Estimate many = over_batches(40, [&] { return info_nce_bound(cross_only(512, &random)).value; });
  EXPECT_NEAR(two.mean, .045, 4 * two.error + .015);
  EXPECT_LT(many.mean, -1);
}

// Candidates must not depend on the anchor: for an independent pair (I = 0) these give "bounds" near log N.
TEST(CriticBounds, AnchorDependentCandidatesBreakTheBound) {
  Random random(9);
  const std::size_t n = 64;
  const Estimate found = over_batches(200, [&] {
    Table scores(n, n);
    for (std::size_t i = 0; i < n; ++i) {
      const double side = random.normal() > 0 ? 1 : -1;
      for (std::size_t j = 0; j < n; ++j) scores(i, j) = -2 * side * (random.normal() + (i == j ? 0 : 4 * side));
    }
    return info_nce_bound(scores).value;
  });
  EXPECT_NEAR(found.mean, 3.79, 0.05);
}

TEST(CriticBounds, CosineCriticCeiling) {
  EXPECT_NEAR(cosine_critic_ceiling(16, 1), 1.66, 0.005);
  EXPECT_NEAR(cosine_critic_ceiling(256, 1), 1.98, 0.005);
  EXPECT_NEAR(cosine_critic_ceiling(4096, 1), 2.00, 0.005);
  EXPECT_NEAR(cosine_critic_ceiling(65536, .07), std::log(65536), 1e-6);
  // Attained by positives at cosine 1 and negatives at -1.
  Table best(16, 16, -1.0);
  for (std::size_t i = 0; i < 16; ++i) best(i, i) = 1;
  EXPECT_NEAR(info_nce_bound(best).value, cosine_critic_ceiling(16, 1), 1e-12);
}

// I(X;Z) >= H(X) + E log q(x|z), with equality for q = p(x|z); exact expectations over a 4 x 3 joint.
TEST(CriticBounds, BarberAgakov) {
  Random random(10);
  const Table joint(4, 3, random.probabilities(12));
  const std::vector<double> pz = column_marginal(joint);
  const double h = entropy(row_marginal(joint)), information = mutual_information(joint);
  const auto bound = [&](const Table& decoder) {
    double expectation = 0;
    for (std::size_t x = 0; x < 4; ++x)
      for (std::size_t z = 0; z < 3; ++z) expectation += joint(x, z) * std::log(decoder(z, x));
    const std::vector<double> sample = {expectation};
    return barber_agakov_bound(h, sample);
  };
  Table exact(3, 4);
  for (std::size_t x = 0; x < 4; ++x)
    for (std::size_t z = 0; z < 3; ++z) exact(z, x) = joint(x, z) / pz[z];
  EXPECT_NEAR(bound(exact).value, information, 1e-12);
  EXPECT_DOUBLE_EQ(bound(exact).ceiling, h);
  for (int trial = 0; trial < 2000; ++trial) {
    Table decoder(3, 4);
    for (std::size_t z = 0; z < 3; ++z) {
      const std::vector<double> q = random.probabilities(4);
      std::copy(q.begin(), q.end(), decoder.row(z).begin());
    }
    EXPECT_LE(bound(decoder).value, information + 1e-12);
  }
}

TEST(CriticBounds, RefuseBadInputAndKeepNaN) {
  EXPECT_THROW(info_nce_bound(Table(2, 3)), Error);
  EXPECT_THROW(info_nce_bound(Table(1, 1)), Error);
  EXPECT_THROW(nwj_bound(Table()), Error);
  EXPECT_THROW(tuba_bound(Table(2, 2), std::vector<double>(3)), Error);
  EXPECT_THROW(interpolated_bound(Table(2, 2), std::vector<double>(2), 0.5), Error);
  EXPECT_THROW(interpolated_bound(Table(3, 3), std::vector<double>(3), 1.5), Error);
  EXPECT_THROW(smile_estimate(Table(2, 2), 0), Error);
  EXPECT_THROW(MovingPartition(0), Error);
  EXPECT_THROW(cosine_critic_ceiling(8, 0), Error);
  EXPECT_THROW(barber_agakov_bound(1, {}), Error);
  EXPECT_THROW(barber_agakov_bound(1, std::vector<double>{0.5}), Error);
  EXPECT_NO_THROW(barber_agakov_bound(-1, std::vector<double>{0.5}, Likelihood::density));
  Table scores(3, 3, 0.0);
  scores(1, 2) = std::nan("");
  EXPECT_TRUE(std::isnan(info_nce_bound(scores).value));
  EXPECT_TRUE(std::isnan(nwj_bound(scores).value));
  EXPECT_TRUE(std::isnan(smile_estimate(scores, 1).value));
}

}  // namespace
}  // namespace isentropic::information
