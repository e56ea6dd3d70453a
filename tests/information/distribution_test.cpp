// Functionals of given distributions, against hand-computed values.
#include "isentropic/information/distribution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "information/options.hpp"
#include "isentropic/error.hpp"

namespace isentropic::information {
namespace {

using Vector = std::vector<double>;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

double term(double p) { return -p * std::log(p); }

TEST(Distribution, EntropyAndUnits) {
  EXPECT_NEAR(entropy(Vector{.5, .25, .25, 0}), 1.5 * kBit, 1e-15);
  EXPECT_NEAR(to_bits(std::log(8)), 3, 1e-15);
}

TEST(Distribution, DivergenceKnowsItsDirection) {
  const Vector p = {.5, .5}, q = {.25, .75};
  EXPECT_NEAR(kl_divergence(p, q), std::log(4.0 / 3) / 2, 1e-15);
  EXPECT_NEAR(kl_divergence(q, p), .75 * std::log(1.5) - .25 * kBit, 1e-15);
  EXPECT_NEAR(kl_divergence(Vector{0, 1}, q), std::log(4.0 / 3), 1e-15);
  EXPECT_EQ(kl_divergence(p, Vector{0, 1}), kInfinite);
}

TEST(Distribution, JensenShannonWeighsItsMembers) {
  const Table two{{1, 0}, {.5, .5}};  // mixtures (3/4, 1/4) and (5/8, 3/8)
  EXPECT_NEAR(jensen_shannon(two), term(.75) + term(.25) - kBit / 2, 1e-15);
  EXPECT_NEAR(jensen_shannon(two, Vector{.25, .75}), term(.625) + term(.375) - .75 * kBit, 1e-15);
  EXPECT_THROW(jensen_shannon(two, Vector{1}), Error);
}

TEST(Distribution, RenyiOrders) {
  const Vector p = {.5, .25, .25, 0};
  EXPECT_NEAR(renyi_entropy(p, 0), std::log(3), 1e-15);
  EXPECT_NEAR(renyi_entropy(p, .5), 2 * std::log(1 + std::sqrt(.5)), 1e-15);
  EXPECT_NEAR(renyi_entropy(p, 1), 1.5 * kBit, 1e-15);
  EXPECT_NEAR(renyi_entropy(p, 2), std::log(8.0 / 3), 1e-15);
  for (double order : {.95, 1.05})
    EXPECT_NEAR(renyi_entropy(p, order), std::log(std::pow(.5, order) + 2 * std::pow(.25, order)) / (1 - order), 1e-13);
  EXPECT_NEAR(renyi_entropy(p, 1e6), kBit, 1e-6);  // where (1/2)^order underflows to 0
  EXPECT_NEAR(renyi_entropy(p, kInfinite), kBit, 1e-15);
  EXPECT_THROW(renyi_entropy(p, -1), Error);
}

TEST(Distribution, Pairs) {
  const Table joint{{.25, .25, 0}, {.5, 0, 0}};
  EXPECT_EQ(row_marginal(joint), (Vector{.5, .5}));
  EXPECT_EQ(column_marginal(joint), (Vector{.75, .25, 0}));
  EXPECT_NEAR(conditional_entropy(joint), kBit / 2, 1e-15);
  EXPECT_NEAR(mutual_information(joint), term(.75) + term(.25) - kBit / 2, 1e-15);
}

TEST(Distribution, MarginalsInTheOrderGiven) {
  const Joint joint{{2, 3}, {.1, .2, .05, .15, .3, .2}};
  EXPECT_EQ(joint.marginal(Variables{0, 1}).p, joint.p);
  EXPECT_EQ(joint.marginal(Variables{1, 0}).p, (Vector{.1, .15, .2, .3, .05, .2}));
  EXPECT_EQ(joint.marginal(Variables{1, 0}).sizes, (std::vector<std::size_t>{3, 2}));
  EXPECT_NEAR(conditional_entropy(joint, {1}, {0}), conditional_entropy(Table(2, 3, joint.p)), 1e-15);
}

// z = x xor y, and three copies of one bit.
TEST(Distribution, ThreeVariables) {
  const Joint parity{{2, 2, 2}, {.25, 0, 0, .25, 0, .25, .25, 0}}, copies{{2, 2, 2}, {.5, 0, 0, 0, 0, 0, 0, .5}};
  EXPECT_NEAR(mutual_information(parity, {0}, {1}), 0, 1e-15);
  EXPECT_NEAR(mutual_information(parity, {0}, {1}, {2}), kBit, 1e-15);
  EXPECT_NEAR(mutual_information(copies, {0}, {1}), kBit, 1e-15);
  EXPECT_NEAR(mutual_information(copies, {0}, {1}, {2}), 0, 1e-15);
  EXPECT_NEAR(conditional_entropy(parity, {2}, {0}), kBit, 1e-15);
  EXPECT_NEAR(conditional_entropy(parity, {2}, {0, 1}), 0, 1e-15);
  EXPECT_NEAR(co_information(parity, {{0}, {1}, {2}}), -kBit, 1e-15);
  EXPECT_NEAR(co_information(copies, {{0}, {1}, {2}}), kBit, 1e-15);
  EXPECT_NEAR(co_information(copies, {{0}, {1}}), kBit, 1e-15);
  EXPECT_NEAR(total_correlation(parity), kBit, 1e-15);
  EXPECT_NEAR(dual_total_correlation(parity), 2 * kBit, 1e-15);
  EXPECT_NEAR(total_correlation(copies), 2 * kBit, 1e-15);
  EXPECT_NEAR(dual_total_correlation(copies), kBit, 1e-15);
}

TEST(Distribution, RefusesWhatIsNone) {
  EXPECT_THROW(entropy(Vector{}), Error);
  EXPECT_THROW(entropy(Vector{.5, .500001}), Error);
  EXPECT_THROW(entropy(Vector{1.5, -.5}), Error);
  EXPECT_THROW(entropy(Vector{1, std::nan("")}), Error);
  EXPECT_THROW(kl_divergence(Vector{1}, Vector{.5, .5}), Error);
}

}  // namespace
}  // namespace isentropic::information
