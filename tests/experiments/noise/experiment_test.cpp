// The experiment of `isentropic noise`: measurements agree with the closed forms, and noise without one is rejected.
#include "experiments/noise/experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/noise/present.hpp"
#include "isentropic/error.hpp"

namespace isentropic::experiments::noise {
namespace {

Options few_draws() {
  Options options;
  options.draws = 400;
  options.attack_trials = 40;
  return options;
}

TEST(NoiseExperiment, EveryFamilyMeetsItsPrediction) {
  for (const Family family : kFamilies) {
    const Curve curve = measure_noise({family, standard_strength(family)}, few_draws());
    ASSERT_EQ(curve.points.size(), experiment_lengths().size());
    for (const Point& point : curve.points) {
      if (point.n < 1024) continue;  // shared noise leaves only 4 and 16 keys in the shorter rows
      EXPECT_NEAR(point.bias.mean, point.predicted_bias, 5 * point.bias.error + 0.2 * std::abs(point.predicted_bias))
          << curve.noise.label() << ", n = " << point.n;
      EXPECT_NEAR(point.rms.mean, point.predicted_rms, 5 * point.rms.error + 0.05 * point.predicted_rms)
          << curve.noise.label() << ", n = " << point.n;
    }
    ASSERT_TRUE(curve.predicted_power);
    EXPECT_NEAR(curve.power.mean, *curve.predicted_power, 5 * curve.power.error + 0.06) << curve.noise.label();
  }
}

TEST(NoiseExperiment, NoiseAlongTheValuesStays) {
  // Weights 1 : e on values 0 and 1 become 1 : e^1.5.
  const Curve curve = measure_noise({Family::values, 0.5}, few_draws());
  const double shift = 1 / (1 + std::exp(-1.5)) - 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(curve.points.back().bias.mean, shift, 0.003);
  EXPECT_NEAR(curve.points.back().predicted_bias, shift, 0.001);
}

TEST(NoiseExperiment, HeavyTailsAreSlow) {
  const Curve curve = measure_noise({Family::laplace, 0.75}, few_draws());
  EXPECT_TRUE(std::isinf(curve.points[0].predicted_rms));
  EXPECT_DOUBLE_EQ(*curve.predicted_power, -0.25);
  EXPECT_GT(curve.power.mean, -0.4);
}

TEST(NoiseExperiment, RefusesWhatHasNoPrediction) {
  EXPECT_NO_THROW(require_meaning({Family::laplace, 0.999}));
  EXPECT_THROW(require_meaning({Family::laplace, 1}), Error);
  EXPECT_NO_THROW(require_meaning({Family::gumbel, 1.001}));
  EXPECT_THROW(require_meaning({Family::gumbel, 1}), Error);
  EXPECT_THROW(require_meaning({Family::gaussian, -1}), Error);
  EXPECT_THROW(require_meaning({Family::gaussian, std::nan("")}), Error);
  EXPECT_THROW(require_meaning({Family::groups, 2.5}), Error);
  EXPECT_THROW(measure_noise({Family::laplace, 2}, few_draws()), Error);
  EXPECT_THROW(family_named("cauchy"), Error);
  for (const Family family : kFamilies) {
    EXPECT_EQ(family_named(name(family)), family);
    EXPECT_NO_THROW(require_meaning({family, standard_strength(family)}));
    EXPECT_EQ(caution({family, standard_strength(family)}), "");
  }
}

TEST(NoiseExperiment, WarnsOfSlowRates) {
  EXPECT_EQ(caution({Family::laplace, 0.49}), "");
  EXPECT_NE(caution({Family::laplace, 0.5}).find("sqrt(log n)"), std::string::npos);
  EXPECT_NE(caution({Family::laplace, 0.75}).find("n^-0.25"), std::string::npos);
  EXPECT_NE(caution({Family::gumbel, 1.5}).find("n^-0.333"), std::string::npos);
  EXPECT_EQ(caution({Family::gumbel, 2.01}), "");
}

TEST(NoiseExperiment, AttacksNeverBeatTheExactOne) {
  const std::vector<AttackRow> rows = measure_attacks(few_draws());
  ASSERT_EQ(rows.size(), 9u);
  for (const AttackRow& row : rows) {
    EXPECT_GT(row.best_gain, 0);
    for (const Mean& share : row.shares) {
      EXPECT_GT(share.mean(), 0);
      EXPECT_LE(share.mean(), 1 + 1e-9);
    }
    // For small budgets the direction of the budget's own norm is the best of the three and nearly optimal.
    if (row.eps > 0.5) continue;
    EXPECT_GT(row.shares[static_cast<std::size_t>(row.budget)].mean(), 0.98);
  }
}

TEST(NoiseExperiment, RepeatsItselfForTheSameSeed) {
  Options options = few_draws();
  options.draws = 20;
  const Case noise{Family::gaussian, 1};
  const double one = measure_noise(noise, options).power.mean, same = measure_noise(noise, options).power.mean;
  options.seed = 2;
  EXPECT_EQ(one, same);
  EXPECT_NE(one, measure_noise(noise, options).power.mean);
}

TEST(NoiseExperiment, InfinitePredictionsAreNullAndNotDrawn) {
  Options options = few_draws();
  options.draws = 20;
  options.cases = {{Family::laplace, 0.75}};
  const Results results = run_experiment(options);
  const auto written = json(results);
  EXPECT_TRUE(written["noise"][0]["points"][0]["predicted_rms"].is_null());
  EXPECT_NEAR(written["noise"][0]["predicted_power"].get<double>(), -0.25, 1e-12);
  EXPECT_NE(tables(results).find("none"), std::string::npos);
  EXPECT_EQ(picture(results).rfind("<svg ", 0), 0u);
  EXPECT_EQ(picture(results).find("inf"), std::string::npos);
}

}  // namespace
}  // namespace isentropic::experiments::noise
