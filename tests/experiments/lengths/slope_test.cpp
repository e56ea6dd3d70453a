// The fit and the search for a flat kappa on curves with known answers; the laws at a single n and d.
#include "experiments/lengths/slope.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "experiments/lengths/laws.hpp"
#include "isentropic/error.hpp"

namespace isentropic::experiments::lengths {
namespace {

TEST(Slope, IsExactOnStraightLines) {
  const std::vector<std::int64_t> lengths = {64, 128, 1024, 131072};
  std::vector<Estimate> rising, flat;
  for (const std::int64_t n : lengths) {
    rising.push_back({0.7 * std::log(static_cast<double>(n)) + 2, 0});
    flat.push_back({3, 0});
  }
  EXPECT_NEAR(slope(lengths, rising).mean, 0.7, 1e-12);
  EXPECT_NEAR(slope(lengths, flat).mean, 0, 1e-12);
  EXPECT_EQ(slope(lengths, flat).error, 0);
}

// Two lengths, a factor of e^2 apart: slope (H2 - H1)/2, error sqrt(e1^2 + e2^2)/2.
TEST(Slope, PropagatesErrors) {
  const double ratio = std::log(4096.0 / 512.0);
  const Estimate out = slope({512, 4096}, {{1, 0.3}, {2, 0.4}});
  EXPECT_NEAR(out.mean, 1 / ratio, 1e-12);
  EXPECT_NEAR(out.error, 0.5 / ratio, 1e-12);
}

std::vector<Trial> trials(double (*f)(double), double error) {
  std::vector<Trial> out;
  for (const double kappa : kappa_grid()) out.push_back({kappa, {f(kappa), error}});
  return out;
}

TEST(Compensation, FindsTheZeroOfACurve) {
  const Compensation found = compensate(trials([](double kappa) { return 1 / kappa - 1 / 5.3; }, 0.002));
  ASSERT_TRUE(found.zero);
  EXPECT_NEAR(found.zero->mean, 5.3, 0.01);
  EXPECT_NEAR(found.zero->error, 0.002 * 5.3 * 5.3, 0.005);  // error / steepness
  EXPECT_TRUE(found.is_clear());
  EXPECT_EQ(found.flattest().kappa, 5);
}

TEST(Compensation, SaysWhenThereIsNone) {
  const Compensation none = compensate(trials([](double kappa) { return 1 / kappa; }, 0.002));
  EXPECT_FALSE(none.zero);
  EXPECT_FALSE(none.is_clear());
  EXPECT_EQ(none.flattest().kappa, 16);
}

TEST(Compensation, DoesNotTrustAnAccident) {
  const Compensation found = compensate(trials([](double kappa) { return 0.15 / kappa - 0.01; }, 0.01));
  EXPECT_TRUE(found.zero);
  EXPECT_FALSE(found.is_clear());
}

TEST(Laws, HaveTheirValuesAtOneLength) {
  const auto lambda = [](const std::string& name) { return laws_named({name}).front().lambda(1024, 64); };
  EXPECT_DOUBLE_EQ(lambda("inverse_sqrt_d"), 0.125);
  EXPECT_NEAR(lambda("log_n"), 0.10830, 5e-6);
  EXPECT_NEAR(lambda("log_512"), 0.125 * 10 / 9, 1e-12);
  EXPECT_NEAR(lambda("log_n_sqrt_d"), 0.125 * std::log(1024.0), 1e-12);
  EXPECT_NEAR(lambda("ssmax"), 0.0625 * std::log(1024.0), 1e-12);
  EXPECT_NEAR(lambda("sqrt_log_n"), std::sqrt(std::log(1024.0) / 64), 1e-12);
  EXPECT_NEAR(lambda("frozen"), std::log(131072.0) / 64, 1e-12);
  EXPECT_NEAR(lambda("hybrid"), 0.13583, 5e-6);
  EXPECT_NEAR(lambda("trained_length"), 0.125 * 10 / 9, 1e-12);
  EXPECT_NEAR(lambda("yarn"), 0.125 * std::pow(0.1 * std::log(2.0) + 1, 2), 1e-12);
  EXPECT_DOUBLE_EQ(lambda("llama4"), 0.125);
  EXPECT_NEAR(log_n_law(5.68).lambda(1024, 64), 5.68 * 0.108304, 1e-5);
}

TEST(Laws, UnknownNamesAreAnError) {
  EXPECT_EQ(laws_named({}).size(), all_laws().size());
  EXPECT_EQ(laws_named({"ssmax", "log_n"}).front().name, "log_n");
  EXPECT_THROW(laws_named({"log_n", "log_m"}), Error);
}

}  // namespace
}  // namespace isentropic::experiments::lengths
