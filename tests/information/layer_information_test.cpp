// The estimators of the information plane: by hand, against each other, and as a layer's weights grow.
#include "isentropic/information/layer_information.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "isentropic/error.hpp"

namespace isentropic::information {
namespace {

LayerInformation measure(const std::string& estimator, const Table& layer, const std::vector<std::int64_t>& labels,
                         const std::vector<std::int64_t>& inputs = {}) {
  return layer_information(LayerEstimator::named(estimator), layer, labels, inputs);
}

// x = -1 ... 1 in 256 steps through tanh(w x), labelled by sign.
struct OneUnit {
  explicit OneUnit(double weight) : layer(256, 1), labels(256) {
    for (std::size_t i = 0; i < 256; ++i) {
      const double x = (static_cast<double>(i) - 127.5) / 128;
      layer(i, 0) = std::tanh(weight * x);
      labels[i] = x > 0;
    }
  }
  Table layer;
  std::vector<std::int64_t> labels;
};

TEST(LayerInformation, ByHand) {
  const Table layer = {{0.}, {.2}, {.6}, {.7}};
  const std::vector<std::int64_t> labels = {0, 0, 1, 0};
  const double of_labels = 2 - .75 * std::log2(3);
  EXPECT_NEAR(measure("exact", layer, labels).input, 2, 1e-12);
  EXPECT_NEAR(measure("exact", layer, labels).label, of_labels, 1e-12);
  EXPECT_NEAR(measure("width:0.5", layer, labels).input, 1, 1e-12);
  EXPECT_NEAR(measure("width:0.5", layer, labels).label, of_labels - .5, 1e-12);
  EXPECT_NEAR(measure("count:7", layer, labels).input, 1.5, 1e-12);  // intervals 0, 2, 6, 6
  EXPECT_NEAR(measure("equal_mass:2", layer, labels).input, 1, 1e-12);
  // Two outputs at distance 1, noise of variance 1/2: log2 of 2 / (1 + e^-1).
  EXPECT_NEAR(measure("kolchinsky_upper:0.5", {{0.}, {1.}}, {0, 0}).input, std::log2(2 / (1 + std::exp(-1))), 1e-12);
}

TEST(LayerInformation, RowsOfOneInputShareIt) {
  const Table layer = {{0.}, {1.}, {2.}, {3.}};
  const std::vector<std::int64_t> labels = {0, 0, 1, 1}, inputs = {7, 7, 9, 9};
  for (const char* estimator : {"exact", "width:0.5", "kolchinsky_upper:0.1", "noise:0.1"})
    EXPECT_EQ(measure(estimator, layer, labels, inputs).input, measure(estimator, layer, labels).label) << estimator;
  EXPECT_NEAR(measure("exact", layer, labels, inputs).input, 1, 1e-12);
}

TEST(LayerInformation, NoiseLiesBetweenItsBounds) {
  Random random(3);
  const Table layer(512, 2, random.normals(1024));
  std::vector<std::int64_t> labels(512);
  for (std::size_t i = 0; i < 512; ++i) labels[i] = layer(i, 0) > 0;
  for (const std::string variance : {"0.01", "0.1", "1"}) {
    const double lower = measure("kolchinsky_lower:" + variance, layer, labels).input;
    const double upper = measure("kolchinsky_upper:" + variance, layer, labels).input;
    const double drawn = measure("noise:" + variance, layer, labels).input;
    EXPECT_LT(lower, drawn) << variance;
    EXPECT_GT(upper, drawn) << variance;
  }
}

// A Gaussian channel: f of variance 1, noise of variance 1/3: log2(1 + 3) / 2 = 1 bit.
TEST(LayerInformation, NoiseKnowsTheGaussianChannel) {
  Random random(4);
  const Table layer(4096, 1, random.normals(4096));
  EXPECT_NEAR(measure("noise:0.3333333333333333", layer, std::vector<std::int64_t>(4096, 0)).input, 1, .05);
}

// Estimates for one unit as its weight grows: with fixed bins and noise they rise and fall again.
TEST(LayerInformation, SaturationLooksLikeCompression) {
  const OneUnit small(.1), middle(1), large(50);
  const auto falls = [&](const char* estimator) {
    return measure(estimator, middle.layer, middle.labels).input - measure(estimator, large.layer, large.labels).input;
  };
  EXPECT_GT(falls("width:0.07"), 2);
  EXPECT_GT(falls("noise:0.01"), .5);
  EXPECT_NEAR(measure("equal_mass:30", small.layer, small.labels).input,
              measure("equal_mass:30", middle.layer, middle.labels).input, 1e-12);
  EXPECT_NEAR(measure("exact", middle.layer, middle.labels).input, 8, 1e-12);
}

TEST(LayerInformation, ADeadLayerHoldsNothing) {
  for (const LayerEstimator& estimator : usual_layer_estimators()) {
    const LayerInformation found =
        layer_information(estimator, Table(8, 3), std::vector<std::int64_t>{0, 1, 0, 1, 0, 1, 0, 1});
    EXPECT_NEAR(found.input, 0, 1e-12) << estimator.name();
    EXPECT_NEAR(found.label, 0, 1e-12) << estimator.name();
  }
}

TEST(LayerInformation, NamesReadBack) {
  for (const LayerEstimator& estimator : usual_layer_estimators(.25))
    EXPECT_EQ(LayerEstimator::named(estimator.name()).name(), estimator.name());
  for (const char* wrong :
       {"", "exact:1", "width", "width:", "width:-1", "width:nan", "count:2.5", "count:1e9", "bins:3"})
    EXPECT_THROW(LayerEstimator::named(wrong), Error) << wrong;
}

TEST(LayerInformation, RefusesWhatIsNoLayer) {
  EXPECT_THROW(measure("exact", {{NAN}, {1.}}, {0, 1}), Error);
  EXPECT_THROW(measure("exact", {{0.}, {1.}}, {0}), Error);
  EXPECT_THROW(measure("exact", {{0.}, {1.}}, {0, 1}, {0}), Error);
}

}  // namespace
}  // namespace isentropic::information
