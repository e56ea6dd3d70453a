// The curves: the kernels' measurements lie on the closed forms, for any seed, and are presented completely.
#include "experiments/sparsity/experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/sparsity/measure.hpp"
#include "experiments/sparsity/present.hpp"
#include "isentropic/theory/sparsity.hpp"

namespace isentropic::experiments::sparsity {
namespace {

TEST(Measure, ByHand) {
  const std::vector<double> one_hot = {0, 0, 3, 0}, mixed = {1, -1, 1, -1}, scores = {0, std::log(3.0)};
  EXPECT_NEAR(measure(one_hot, ScoreMap::identity()).sparsity, 0.5, 1e-15);
  EXPECT_NEAR(measure(one_hot, ScoreMap::identity()).participation, 1, 1e-15);
  EXPECT_NEAR(measure(mixed, ScoreMap::identity()).sparsity, 1, 1e-15);
  EXPECT_NEAR(measure(mixed, ScoreMap::relu_squared()).participation, 2, 1e-15);
  EXPECT_NEAR(measure(scores, ScoreMap::softmax()).participation, 1.6, 1e-14);  // 1 / (1/16 + 9/16)
  // A query of two coordinates: scores 1 and -1.
  const information::Table keys{{1, 0}, {0, 1}};
  EXPECT_NEAR(measure(std::vector<double>{1, -1}, keys, ScoreMap::relu_squared()).participation, 1, 1e-15);
}

TEST(Experiment, PointsLieOnTheFormulas) {
  const Results results = run_experiment({.keys = 5000, .key_sets = 12, .seed = 3});
  EXPECT_EQ(results.curves.size(), 13u);
  for (const Curve& curve : results.curves) {
    const std::vector<double>&mean = curve.measured.mean, &error = curve.measured.error;
    ASSERT_EQ(mean.size(), results.gammas.size());
    for (std::size_t i = 0; i < results.gammas.size(); ++i) {
      const double gamma = results.gammas[i], formula = sparsity_of(curve.map, curve.beta, gamma);
      // Finite n: exp freezes, and so does relu^2 once fewer than one key in a thousand is positive.
      if (curve.map == WeightMap::exp && gamma > 1) {
        EXPECT_TRUE(gamma <= 2 || mean[i] > formula) << gamma;
        EXPECT_GE(mean[i], theory::sparsity_floor(5000));
      } else if (curve.map != WeightMap::relu_squared || curve.beta / gamma > -3) {
        EXPECT_NEAR(mean[i], formula, 6 * error[i] + 0.003) << name(curve.map) << curve.beta << " " << gamma;
        EXPECT_GT(error[i], 0);
      }
    }
  }
  EXPECT_NEAR(results.exp_breaks_at(), std::sqrt(std::log(5000) / 2), 1e-12);
}

TEST(Measure, DecayByHand) {
  // (1, 1/2): (3/2) / sqrt(2 5/4), and 9/4 / (5/4) keys.
  EXPECT_NEAR(measure_decay(0.5, 2).sparsity, 0.948683, 1e-6);
  EXPECT_NEAR(measure_decay(0.5, 2).participation, 1.8, 1e-14);
  EXPECT_NEAR(measure_decay(1, 7).sparsity, 1, 1e-15);
}

TEST(Points, AreMeansOverSets) {
  Points points;
  points.add({{0.2, 4}, {0.4, 8}});
  EXPECT_NEAR(points.mean[0], 0.3, 1e-15);
  EXPECT_NEAR(points.error[0], 0.1, 1e-15);  // deviation 0.2/sqrt 2, over sqrt 2
  EXPECT_NEAR(points.participation[0], 6, 1e-15);
}

// Weights of linear attention by hand, from the same random numbers as the kernel's.
TEST(LinearCurves, AreTheDefinitionOnTheDrawnKeys) {
  Random random(5), same(5);
  const std::vector<FeatureCurve> curves = feature_curves(50, 1, random);
  ASSERT_EQ(curves.size(), 6u);
  const std::vector<double> keys = same.normals(50);  // d = 1
  double sum = 0, squares = 0;
  for (const double x : keys) sum += std::max(x, 0.0), squares += std::max(x, 0.0) * std::max(x, 0.0);
  EXPECT_EQ(curves[0].feature, Feature::relu);
  EXPECT_NEAR(curves[0].measured.mean[0], sum / std::sqrt(50 * squares), 1e-12);
  EXPECT_NEAR(curves[1].measured.mean[0], curves[0].measured.mean[0], 1e-12);  // with d = 1 there is only one feature

  Random third(6), fourth(6);
  const TaylorCurve taylor = taylor_curves({0.7}, 50, 1, third)[0];
  sum = squares = 0;
  for (const double x : fourth.normals(50)) {
    const double s = 0.7 * x, weight = 1 + s + s * s / 2;
    sum += weight, squares += weight * weight;
  }
  EXPECT_EQ(taylor.degree, 2);
  EXPECT_NEAR(taylor.measured.mean[0], sum / std::sqrt(50 * squares), 1e-12);
}

TEST(LinearCurves, PointsLieOnTheFormulas) {
  Random random(4);
  for (const FeatureCurve& curve : feature_curves(4000, 12, random)) {
    ASSERT_EQ(curve.measured.mean.size(), std::size(kFeatureCounts));
    for (std::size_t i = 0; i < std::size(kFeatureCounts); ++i)
      EXPECT_NEAR(curve.measured.mean[i], curve.formula(kFeatureCounts[i]), 6 * curve.measured.error[i] + 0.002)
          << name(curve.feature) << " " << name(curve.query) << " " << kFeatureCounts[i];
  }
  // relu, all equal: c^2 = pi - 1.
  EXPECT_NEAR((FeatureCurve{Feature::relu, QueryShape::equal}.formula(64)), 1 / std::sqrt(1 + (M_PI - 1) / 64), 1e-12);
  EXPECT_NEAR((FeatureCurve{Feature::relu, QueryShape::one_feature}.formula(64)), 1 / std::sqrt(M_PI), 1e-12);

  const std::vector<double> gammas = {0.25, 0.5, 1, 2};
  for (const TaylorCurve& curve : taylor_curves(gammas, 20000, 12, random))
    for (std::size_t i = 0; i < gammas.size(); ++i) {
      // High degrees are as heavy-tailed as exp.
      if (curve.degree > 2 && gammas[i] > 1) continue;
      EXPECT_NEAR(curve.measured.mean[i], curve.formula(gammas[i]), 6 * curve.measured.error[i] + 0.001)
          << curve.degree << " " << gammas[i];
    }
}

TEST(DecayCurves, AreTheClosedForm) {
  const std::vector<DecayCurve> curves = decay_curves();
  ASSERT_EQ(curves.size(), static_cast<std::size_t>(kSlowestDecay));
  for (const DecayCurve& curve : curves)
    for (std::size_t i = 0; i < std::size(kDecayLengths); ++i) {
      EXPECT_NEAR(curve.measured[i], curve.formula(static_cast<double>(kDecayLengths[i])), 1e-11) << curve.lambda;
      EXPECT_LE(curve.participation[i], curve.most_keys() * (1 + 1e-12));
    }
  EXPECT_EQ(curves[0].lambda, 0.5);
  EXPECT_NEAR(curves[0].participation.back(), 3, 1e-9);  // (1 + 1/2)/(1 - 1/2)
}

TEST(Experiment, SeedsAndProgress) {
  double share = 0;
  const Options options{.keys = 200, .key_sets = 2, .seed = 1};
  const Results one = run_experiment(options, [&](double x) {
    EXPECT_GT(x, share);
    share = x;
  });
  EXPECT_DOUBLE_EQ(share, 1);
  EXPECT_EQ(one.curves[3].measured.mean, run_experiment(options).curves[3].measured.mean);
  EXPECT_NE(one.curves[3].measured.mean,
            run_experiment({.keys = 200, .key_sets = 2, .seed = 2}).curves[3].measured.mean);
}

TEST(Present, SaysTheSameInEveryForm) {
  const Results results = run_experiment({.keys = 300, .key_sets = 2, .seed = 1});
  const nlohmann::ordered_json data = json(results);
  EXPECT_EQ(data["curves"].size(), 13u);
  EXPECT_EQ(data["curves"][3]["map"], "relu_squared");
  EXPECT_NEAR(data["curves"][3]["formula"][0].get<double>(), 1 / std::sqrt(6), 1e-12);
  EXPECT_EQ(data["curves"][3]["measured"]["mean"][0], results.curves[3].measured.mean[0]);
  EXPECT_NEAR(data["curves"][8]["limit"].get<double>(), std::sqrt(2 / M_PI), 1e-12);
  EXPECT_EQ(data["features"].size(), 6u);
  EXPECT_EQ(data["features"][0]["feature"], "relu");
  EXPECT_EQ(data["features"][0]["measured"]["mean"][2], results.features[0].measured.mean[2]);
  EXPECT_EQ(data["taylor"][0]["features_at_d_64"], 2145);
  EXPECT_NEAR(data["taylor"][0]["floor"].get<double>(), 1 / std::sqrt(3), 1e-12);
  EXPECT_EQ(data["decay"].size(), static_cast<std::size_t>(kSlowestDecay));
  EXPECT_EQ(data["decay"][0]["measured"][0], results.decay[0].measured[0]);
  const std::string text = tables(results), drawing = picture(results);
  EXPECT_NE(text.find("0.4082"), std::string::npos);
  EXPECT_NE(page(results).find("limit 1/√6"), std::string::npos);
  EXPECT_NE(text.find("identity"), std::string::npos);
  for (const char* part : {"elu + 1", "one alone", "2145", "0.5774", "lambda"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  for (const char* part : {"limit 1/√6", "floor √(2/π)", "exp, any β", "β = -0.5", "<circle", "relu, all equal",
                           "exp, one alone", "p = 8", "λ = 0.5", "n = 16384"})
    EXPECT_NE(drawing.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace isentropic::experiments::sparsity
