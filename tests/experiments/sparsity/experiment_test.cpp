// The curves: what the kernels measure lies on the closed forms, for any seed, and is presented whole.
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
    ASSERT_EQ(curve.mean.size(), results.gammas.size());
    for (std::size_t i = 0; i < results.gammas.size(); ++i) {
      const double gamma = results.gammas[i], formula = sparsity_of(curve.map, curve.beta, gamma);
      // Finite n: exp freezes, and so does relu^2 where fewer than one key in a thousand is positive.
      if (curve.map == WeightMap::exp && gamma > 1) {
        EXPECT_TRUE(gamma <= 2 || curve.mean[i] > formula) << gamma;
        EXPECT_GE(curve.mean[i], theory::sparsity_floor(5000));
      } else if (curve.map != WeightMap::relu_squared || curve.beta / gamma > -3) {
        EXPECT_NEAR(curve.mean[i], formula, 6 * curve.error[i] + 0.003)
            << name(curve.map) << curve.beta << " " << gamma;
        EXPECT_GT(curve.error[i], 0);
      }
    }
  }
  EXPECT_NEAR(results.exp_breaks_at(), std::sqrt(std::log(5000) / 2), 1e-12);
}

TEST(Experiment, SeedsAndProgress) {
  double share = 0;
  const Options options{.keys = 200, .key_sets = 2, .seed = 1};
  const Results one = run_experiment(options, [&](double x) {
    EXPECT_GT(x, share);
    share = x;
  });
  EXPECT_DOUBLE_EQ(share, 1);
  EXPECT_EQ(one.curves[3].mean, run_experiment(options).curves[3].mean);
  EXPECT_NE(one.curves[3].mean, run_experiment({.keys = 200, .key_sets = 2, .seed = 2}).curves[3].mean);
}

TEST(Present, SaysTheSameInEveryForm) {
  const Results results = run_experiment({.keys = 300, .key_sets = 2, .seed = 1});
  const nlohmann::ordered_json data = json(results);
  EXPECT_EQ(data["curves"].size(), 13u);
  EXPECT_EQ(data["curves"][3]["map"], "relu_squared");
  EXPECT_NEAR(data["curves"][3]["formula"][0].get<double>(), 1 / std::sqrt(6), 1e-12);
  EXPECT_EQ(data["curves"][3]["measured"]["mean"][0], results.curves[3].mean[0]);
  EXPECT_NEAR(data["curves"][8]["limit"].get<double>(), std::sqrt(2 / M_PI), 1e-12);
  const std::string text = tables(results), drawing = picture(results);
  EXPECT_NE(text.find("0.4082"), std::string::npos);
  EXPECT_NE(page(results).find("limit 1/√6"), std::string::npos);
  EXPECT_NE(text.find("identity"), std::string::npos);
  for (const char* part : {"limit 1/√6", "floor √(2/π)", "exp, any β", "β = -0.5", "<circle"})
    EXPECT_NE(drawing.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace isentropic::experiments::sparsity
