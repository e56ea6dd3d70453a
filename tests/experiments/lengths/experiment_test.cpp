// The experiment as a whole: slopes and needle probabilities at d = 64 against the theory's values.
#include "experiments/lengths/experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/lengths/present.hpp"
#include "isentropic/error.hpp"

namespace isentropic::experiments::lengths {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr bool kIsSlowBuild = true;
#else
constexpr bool kIsSlowBuild = false;
#endif

const Curve& curve_of(const Sweep& sweep, const std::string& name) {
  for (const Curve& curve : sweep.curves)
    if (curve.law.name == name) return curve;
  throw Error("law " + name + " was not measured");
}

TEST(Experiment, MatchesTheTheoryUpTo131072Keys) {
  if (kIsSlowBuild) GTEST_SKIP() << "skipped: statistics over 131072 keys need an optimised build";
  Options options;
  options.laws = {"inverse_sqrt_d", "log_n", "log_n_sqrt_d", "sqrt_log_n", "frozen", "log_512", "hybrid"};
  const Sweep sweep = lengths::sweep(options, Keys::random, 64, 96);
  const std::vector<std::int64_t> lengths = experiment_lengths(options.effort);
  ASSERT_EQ(lengths.size(), 12u);
  ASSERT_EQ(lengths.back(), 131072);

  EXPECT_NEAR(curve_of(sweep, "inverse_sqrt_d").slope.mean, 0.997, 0.01);
  EXPECT_NEAR(curve_of(sweep, "log_n").slope.mean, 0.881, 0.02);
  EXPECT_NEAR(curve_of(sweep, "log_n_sqrt_d").slope.mean, -0.017, 0.05);
  EXPECT_NEAR(curve_of(sweep, "sqrt_log_n").slope.mean, 0.587, 0.03);
  EXPECT_NEAR(curve_of(sweep, "log_512").slope.mean, 0.810, 0.02);
  EXPECT_NEAR(curve_of(sweep, "hybrid").slope.mean, 0.984, 0.01);
  EXPECT_GT(curve_of(sweep, "frozen").slope.mean, 0.95);

  for (std::size_t i = 0; i < lengths.size(); ++i) {
    SCOPED_TRACE(lengths[i]);
    const double log_n = std::log(static_cast<double>(lengths[i]));
    const Measurement& plain = curve_of(sweep, "inverse_sqrt_d").points[i];
    const Measurement& log_law = curve_of(sweep, "log_n").points[i];
    EXPECT_NEAR(plain.entropy.mean, log_n - 0.5, 0.05);
    EXPECT_NEAR(log_law.entropy.mean, log_n - log_n * log_n / 128, 0.05);
    EXPECT_NEAR(log_law.needle.mean, 1 / (1 + std::exp(log_n * log_n / 128)), 0.03);
  }
  EXPECT_NEAR(curve_of(sweep, "inverse_sqrt_d").points.front().needle.mean, 0.967, 0.03);
  EXPECT_NEAR(curve_of(sweep, "inverse_sqrt_d").points.back().needle.mean, 0.014, 0.03);

  // kappa log n/d is flat near kappa = 5.7, and kappa = 1 is far from it.
  ASSERT_TRUE(sweep.compensation.is_clear());
  EXPECT_NEAR(sweep.compensation.zero->mean, 5.4, 1.0);
}

class QuickExperiment : public testing::Test {
 protected:
  static Results run(PositionCode positions) {
    Options options;
    options.effort = Effort::quick;
    options.positions = positions;
    return run_experiment(options);
  }
};

TEST_F(QuickExperiment, FillsTablesJsonAndPicture) {
  double last = 0;
  Options options;
  options.effort = Effort::quick;
  const Results results = run_experiment(options, [&](double share) {
    EXPECT_GE(share, last);
    last = share;
  });
  EXPECT_NEAR(last, 1, 1e-9);
  ASSERT_EQ(results.sweeps.size(), 6u);
  EXPECT_EQ(results.main().curves.size(), all_laws().size() + (results.main().compensation.is_clear() ? 1 : 0));
  EXPECT_NEAR(curve_of(results.main(), "target_entropy").slope.mean, 0, 1e-3);

  const nlohmann::ordered_json json = lengths::json(results);
  EXPECT_EQ(nlohmann::ordered_json::parse(json.dump()), json);
  EXPECT_EQ(json["lengths"].size(), results.lengths.size());
  EXPECT_EQ(json["sweeps"][0]["curves"][0]["law"], "inverse_sqrt_d");
  EXPECT_EQ(json["sweeps"][0]["curves"][0]["entropy"]["mean"].size(), results.lengths.size());
  EXPECT_EQ(json["parameters"]["seed"], 1);

  const std::string text = tables(results), picture = lengths::picture(results);
  for (const Law& law : all_laws()) EXPECT_NE(text.find(law.label), std::string::npos) << law.label;
  for (const char* label : {"1/√d", "log n/d", "uniform: log n"})
    EXPECT_NE(picture.find(label), std::string::npos) << label;
  EXPECT_EQ(text.find("-0.000"), std::string::npos);
  EXPECT_EQ(picture.find("nan"), std::string::npos);
}

TEST_F(QuickExperiment, WithABiasNothingIsSolvedFor) {
  const Results results = run({Positions::alibi, 0.1});
  EXPECT_THROW(curve_of(results.main(), "target_entropy"), Error);
  // The window alone bounds the entropy at every length.
  for (const Measurement& point : curve_of(results.main(), "inverse_sqrt_d").points)
    EXPECT_LT(point.entropy.mean, 3.31);
  EXPECT_NEAR(curve_of(results.main(), "inverse_sqrt_d").slope.mean, 0, 0.05);
  Options only;
  only.positions = {Positions::alibi, 0.1};
  only.laws = {"target_entropy"};
  EXPECT_THROW(laws_of(only), Error);
}

TEST_F(QuickExperiment, RepeatsItselfForTheSameSeed) {
  Options options;
  options.effort = Effort::quick;
  options.laws = {"log_n_sqrt_d"};
  const Sweep one = sweep(options, Keys::random, 16, 4), same = sweep(options, Keys::random, 16, 4);
  options.seed = 2;
  const Sweep other = sweep(options, Keys::random, 16, 4);
  EXPECT_EQ(one.curves[0].slope.mean, same.curves[0].slope.mean);
  EXPECT_NE(one.curves[0].slope.mean, other.curves[0].slope.mean);
}

}  // namespace
}  // namespace isentropic::experiments::lengths
