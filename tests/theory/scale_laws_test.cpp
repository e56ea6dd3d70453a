// Slopes of the scale laws against published values and against each other.
#include "isentropic/theory/scale_laws.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "isentropic/error.hpp"
#include "isentropic/theory/random_scores.hpp"

namespace isentropic::theory {
namespace {

std::vector<std::int64_t> powers_of_two(int first, int last) {
  std::vector<std::int64_t> out;
  for (int k = first; k <= last; ++k) out.push_back(std::int64_t{1} << k);
  return out;
}

struct Slope {
  Scale scale;
  std::int64_t d;
  double slope, tolerance;
};

// Slopes measured on random keys, n = 2^6 ... 2^17; they fluctuate more for laws that freeze.
TEST(ScaleLaws, SlopesAgreeWithDrawnKeys) {
  const double log_512 = std::log(512.0);
  for (const Slope& x : {Slope{Scale::inverse_sqrt_d(), 64, 0.997, 0.003},
                         {Scale::log_n(), 16, 0.706, 0.005},
                         {Scale::log_n(), 64, 0.881, 0.003},
                         {Scale::log_n(), 256, 0.969, 0.003},
                         {Scale::log_n_sqrt_d(1 / log_512), 64, 0.810, 0.005},
                         {Scale::log_n_sqrt_d(), 64, -0.017, 0.03},
                         {Scale::sqrt_log_n(), 64, 0.587, 0.03},
                         {Scale::hybrid(1, 0.1), 64, 0.984, 0.003},
                         {Scale::frozen(1, 131072), 64, 0.989, 0.003}})
    EXPECT_NEAR(law_slope(x.scale, powers_of_two(6, 17), x.d), x.slope, x.tolerance) << x.scale.name() << " " << x.d;
}

TEST(ScaleLaws, InvariantKappa) {
  const auto lengths = powers_of_two(6, 17);
  const std::optional<double> kappa = invariant_kappa(lengths, 64);
  ASSERT_TRUE(kappa);
  EXPECT_NEAR(*kappa, 5.2, 0.1);  // `isentropic lengths` on random keys
  EXPECT_NEAR(law_slope(Scale::log_n(*kappa), lengths, 64), 0, 1e-5);
  EXPECT_FALSE(invariant_kappa(lengths, 16, 8));
}

TEST(ScaleLaws, FittedKappa) {
  const KappaFit fit = fit_kappa(powers_of_two(6, 17), 64, 2);
  EXPECT_NEAR(fit.exponent, 0.968, 0.03);
  EXPECT_LT(fit.relative_error, 0.023);
  EXPECT_GT(fit.kappa, 5.3);
  EXPECT_LT(fit.kappa, 5.6);
}

// Two lengths: the fit takes the component of lambda* along (log n, log n'), and the error is the component across it.
TEST(ScaleLaws, FitOfTwoLengths) {
  const double x = std::log(64.0), y = std::log(4096.0), d = 16;
  const double a = scale_for_entropy(ScoreLaw::cosine(d), x, 2), b = scale_for_entropy(ScoreLaw::cosine(d), y, 2);
  const KappaFit fit = fit_kappa(std::vector<std::int64_t>{64, 4096}, 16, 2);
  EXPECT_NEAR(fit.kappa, d * (x * a + y * b) / (x * x + y * y), 1e-12);
  EXPECT_NEAR(fit.relative_error, std::abs(x * b - y * a) / std::hypot(x, y) / std::sqrt(2.0) / ((a + b) / 2), 1e-12);
  EXPECT_NEAR(fit.exponent, std::log(b / a) / std::log(y / x), 1e-12);
}

// The query sits at the last key: the first step of 8192 positions is complete with 8192 of them.
TEST(ScaleLaws, LawsByPosition) {
  const Scale scale = Scale::llama4(8192, 0.1);
  EXPECT_NEAR(law_lambda(scale, 8191, 64), 0.125, 1e-15);
  EXPECT_NEAR(law_lambda(scale, 8192, 64), (1 + 0.1 * std::log(2.0)) / 8, 1e-15);
}

TEST(ScaleLaws, TargetEntropyIsCappedByTheLength) {
  EXPECT_EQ(law_entropy(Scale::target_entropy(2), 1024, 64), 2);
  EXPECT_EQ(law_entropy(Scale::target_entropy(2), 4, 64), std::log(4.0));
}

TEST(ScaleLaws, NeedleProbability) {
  const double log_n = std::log(1024.0);
  EXPECT_NEAR(needle_probability(log_n, 64, log_n / 64), 1 / (1 + std::exp(log_n * log_n / 128)), 1e-14);
  EXPECT_NEAR(needle_probability(log_n, 64, log_n / 64), 0.407, 0.0005);
  EXPECT_NEAR(needle_probability(log_n, 64, 0.1, 0.5), 1 / (1 + std::exp(log_n + 0.32 - 3.2)), 1e-14);
  // Against the exact expectation among unfrozen keys.
  EXPECT_NEAR(needle_probability(log_n, 64, log_n / 64),
              expected_row(ScoreLaw::cosine(64), log_n, log_n / 64, 64.0).planted, 0.01);
}

// The growth, as a power of n (or of log n), of the lambda that holds H, from the solved scales at two large n.
double growth_exponent(const ScoreLaw& law, double log_n, double entropy) {
  return std::log(scale_for_entropy(law, log_n + 1, entropy) / scale_for_entropy(law, log_n, entropy));
}

TEST(ScaleLaws, TailsGiveTheGrowth) {
  EXPECT_NEAR(growth_exponent(ScoreLaw::uniform(), 9, 1.5),
              std::log(tail_growth(ScoreTail::bounded, 10, 1) / tail_growth(ScoreTail::bounded, 9, 1)), 0.002);
  EXPECT_NEAR(growth_exponent(ScoreLaw::exponential(), 10, 1.5), 0, 0.01);
  EXPECT_NEAR(growth_exponent(ScoreLaw::cosine(4), 10, 1.5), 2.0 / 3, 0.03);
  EXPECT_NEAR(tail_growth(ScoreTail::bounded, 6, 1.5), std::exp(4.0), 1e-12);  // k = (4 - 1)/2
  EXPECT_EQ(tail_growth(ScoreTail::planted_match, 9), 9);
  EXPECT_EQ(tail_growth(ScoreTail::gaussian, 9), 3);
  EXPECT_EQ(tail_growth(ScoreTail::exponential, 9), 1);
  const double far = 600;
  EXPECT_NEAR(growth_exponent(ScoreLaw::gaussian(), far, 1.5) * far, 0.5, 0.03);
  EXPECT_NEAR(gaussian_local_exponent(8, 4), 1, 1e-15);
}

TEST(ScaleLaws, RefuseWhatHasNoLambda) {
  EXPECT_THROW(law_lambda(Scale::target_entropy(1), 64, 8), Error);
  EXPECT_THROW(law_slope(Scale::log_n(), std::vector<std::int64_t>{64}, 8), Error);
  EXPECT_THROW(law_slope(Scale::log_n(), std::vector<std::int64_t>{1, 64}, 8), Error);
}

}  // namespace
}  // namespace isentropic::theory
