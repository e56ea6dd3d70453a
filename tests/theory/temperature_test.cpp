// Entropy against temperature: slope by differences, limits, and the order of the series' error.
#include "isentropic/theory/temperature.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "isentropic/error.hpp"
#include "theory/naive_softmax.hpp"

namespace isentropic::theory {
namespace {

const std::vector<double> kScores = {1, 0.3, -0.2, 0.9};

double entropy_at(std::vector<double> scores, double tau) {
  for (double& s : scores) s /= tau;
  return naive::entropy(scores);
}

TEST(Temperature, SlopeIsTheVarianceOverTheCube) {
  for (const double tau : {0.1, 0.7, 1.0, 5.0}) {
    const double h = 1e-5 * tau;
    const double difference = (entropy_at(kScores, tau + h) - entropy_at(kScores, tau - h)) / (2 * h);
    EXPECT_NEAR(entropy_slope_in_temperature(kScores, tau) / difference, 1, 1e-7) << tau;
  }
  EXPECT_NEAR(entropy_slope_in_temperature(kScores, 0.7), 0.38422824, 1e-8);
  EXPECT_NEAR(entropy_slope_in_temperature(std::vector{0.0, 1.0}, 1), 0.19661193324, 1e-10);
}

TEST(Temperature, CoolingLeavesTheTies) {
  EXPECT_EQ(zero_temperature_entropy(kScores), 0);
  const std::vector<double> ties = {1, 1, 0};
  EXPECT_NEAR(zero_temperature_entropy(ties), std::log(2.0), 1e-15);
  EXPECT_NEAR(entropy_at(ties, 1e-3), zero_temperature_entropy(ties), 1e-12);
}

TEST(Temperature, SeriesErrsByTheNextOrder) {
  for (const auto order : {HighTemperatureOrder::second, HighTemperatureOrder::third, HighTemperatureOrder::fourth}) {
    const auto error = [&](double tau) {
      return std::abs(high_temperature_entropy(kScores, tau, order) - entropy_at(kScores, tau));
    };
    const double next = static_cast<double>(order) + 1;
    EXPECT_NEAR(std::log2(error(4) / error(8)), next, 0.35) << next;
  }
  EXPECT_NEAR(high_temperature_entropy(std::vector{0.0, 1.0}, 10), 0.69189874, 1e-8);
}

TEST(Temperature, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(entropy_slope_in_temperature(kScores, 0), Error);
  EXPECT_THROW(zero_temperature_entropy({}), Error);
  EXPECT_THROW(high_temperature_entropy(std::vector{0.0, HUGE_VAL}, 1), Error);
}

}  // namespace
}  // namespace isentropic::theory
