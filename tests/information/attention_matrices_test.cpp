// Entropies and spectra of attention matrices with known values.
#include "isentropic/information/attention_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "isentropic/error.hpp"

namespace isentropic::information {
namespace {

Table softmax_rows(Table scores) {
  for (std::size_t q = 0; q < scores.rows; ++q) {
    double sum = 0;
    for (double& s : scores.row(q)) sum += s = std::exp(s);
    for (double& s : scores.row(q)) s /= sum;
  }
  return scores;
}

Table shift(std::size_t n, std::size_t by) {
  Table out(n, n);
  for (std::size_t q = 0; q < n; ++q) out(q, (q + by) % n) = 1;
  return out;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) ma += a[i] / n, mb += b[i] / n;
  for (std::size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
    ab += (a[i] - ma) * (b[i] - mb);
  }
  return ab / std::sqrt(aa * bb);
}

TEST(AttentionMatrices, EntropiesByHand) {
  const AttentionEntropies found = attention_entropies({{1, 0, 0}, {0, .5, .5}});
  ASSERT_EQ(found.per_query.size(), 2u);
  EXPECT_NEAR(found.per_query[0], 0, 1e-15);
  EXPECT_NEAR(found.per_query[1], std::log(2), 1e-15);
  EXPECT_NEAR(found.mean, std::log(2) / 2, 1e-15);
  EXPECT_NEAR(found.marginal, 1.5 * std::log(2), 1e-15);  // (1/2, 1/4, 1/4)
  Random random(1);
  for (int trial = 0; trial < 100; ++trial) {
    const AttentionEntropies any = attention_entropies(softmax_rows(Table(5, 7, random.normals(35, 2))));
    EXPECT_LE(any.mean, any.marginal);
    EXPECT_LE(any.marginal, std::log(7) + 1e-12);
  }
}

// Perplexity and effective rank are at opposite extremes.
TEST(AttentionMatrices, PerplexityIsNotEffectiveRank) {
  const Table uniform(64, 64, 1.0 / 64), identity = shift(64, 0);
  EXPECT_NEAR(attention_perplexity(uniform), 64, 1e-10);
  EXPECT_NEAR(effective_rank(uniform), 1, 1e-10);
  EXPECT_NEAR(attention_perplexity(identity), 1, 1e-12);
  EXPECT_NEAR(effective_rank(identity), 64, 1e-10);
  EXPECT_NEAR(attention_spectrum(uniform).spectral_entropy(), 0, 1e-10);
  EXPECT_NEAR(attention_spectrum(identity).spectral_entropy(), std::log(64), 1e-12);
  // Over random matrices of all temperatures they are negatively correlated: -.78, with a standard deviation of .015
  // over sets of 400.
  Random random(2);
  std::vector<double> perplexity, rank;
  for (int trial = 0; trial < 400; ++trial) {
    const double temperature = std::exp(random.uniform(-2.5, 2));
    const Table weights = softmax_rows(Table(32, 32, random.normals(32 * 32, 1 / temperature)));
    perplexity.push_back(attention_perplexity(weights));
    rank.push_back(effective_rank(weights));
  }
  EXPECT_NEAR(correlation(perplexity, rank), -.78, .06);
}

// Singular values 1, 1/2 and 1, sqrt(1/2): all of them count, even the smallest.
TEST(AttentionMatrices, SpectralEntropyByHand) {
  const double two_to_one = std::log(3) - 2 * std::log(2) / 3;  // shares 2/3, 1/3
  EXPECT_NEAR(attention_spectrum({{.75, .25}, {.25, .75}}).spectral_entropy(), two_to_one, 1e-14);
  EXPECT_NEAR(effective_rank({{.75, .25}, {.25, .75}}), 3 / std::cbrt(4), 1e-13);
  const double root = std::sqrt(.5);
  EXPECT_NEAR(effective_rank({{1, 0, 0}, {0, .5, .5}}), (1 + root) * std::pow(root, -root / (1 + root)), 1e-13);
}

// -sum |lambda| log |lambda| of uniform attention is 0, its entropy log n.
TEST(AttentionMatrices, EigenvaluesAreNoDistribution) {
  const AttentionSpectrum spectrum = attention_spectrum(Table(64, 64, 1.0 / 64));
  double printed = 0;
  for (const auto& x : spectrum.eigenvalues)
    if (std::abs(x) > 1e-12) printed -= std::abs(x) * std::log(std::abs(x));
  EXPECT_NEAR(printed, 0, 1e-9);
  EXPECT_NEAR(attention_entropies(Table(64, 64, 1.0 / 64)).mean, 4.1589, 1e-4);
}

TEST(AttentionMatrices, EigenvalueOne) {
  Random random(3);
  const Table positive = softmax_rows(Table(16, 16, random.normals(256)));
  const AttentionSpectrum plain = attention_spectrum(positive);
  EXPECT_NEAR(std::abs(plain.eigenvalues[0] - 1.0), 0, 1e-12);
  EXPECT_EQ(plain.unit_eigenvalues, 1u);
  EXPECT_EQ(plain.on_unit_circle, 1u);
  EXPECT_LT(std::abs(plain.eigenvalues[1]), 1 - 1e-3);
  // Two blocks that do not see each other.
  Table blocks(64, 64);
  for (std::size_t q = 0; q < 64; ++q)
    for (std::size_t j = 0; j < 64; ++j) blocks(q, j) = q / 32 == j / 32 ? 1.0 / 32 : 0;
  EXPECT_EQ(attention_spectrum(blocks).unit_eigenvalues, 2u);
  // By modulus: 1, 1, -.8, .5. Close to 1 does not count as 1.
  const AttentionSpectrum ordered =
      attention_spectrum({{.1, .9, 0, 0}, {.9, .1, 0, 0}, {0, 0, .75, .25}, {0, 0, .25, .75}});
  EXPECT_NEAR(std::abs(ordered.eigenvalues[2] + .8), 0, 1e-12);
  EXPECT_EQ(attention_spectrum({{.9995, .0005}, {.0005, .9995}}).unit_eigenvalues, 1u);
  // A cyclic shift: roots of unity.
  const AttentionSpectrum cyclic = attention_spectrum(shift(16, 1));
  EXPECT_EQ(cyclic.unit_eigenvalues, 1u);
  EXPECT_EQ(cyclic.on_unit_circle, 16u);
  for (double sigma : cyclic.singular_values) EXPECT_NEAR(sigma, 1, 1e-12);
  // Causal: the diagonal.
  Table causal(12, 12);
  std::vector<double> diagonal;
  for (std::size_t q = 0; q < 12; ++q) {
    const std::vector<double> row = random.probabilities(q + 1);
    std::ranges::copy(row, causal.row(q).begin());
    diagonal.push_back(row.back());
  }
  std::ranges::sort(diagonal, std::ranges::greater{});
  const AttentionSpectrum triangular = attention_spectrum(causal);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(std::abs(triangular.eigenvalues[i] - diagonal[i]), 0, 1e-7);
}

// A rotation times diag(3, 2) times a rotation, plus a column of zeros: 3, 2. A product of rotations alone: ones.
TEST(AttentionMatrices, SingularValuesOfAnyMatrix) {
  const double a = std::cos(.3), b = std::sin(.3), c = std::cos(1.1), d = std::sin(1.1);
  const Table matrix = {{3 * a * c - 2 * b * d, -3 * a * d - 2 * b * c, 0},
                        {3 * b * c + 2 * a * d, -3 * b * d + 2 * a * c, 0}};
  const std::vector<double> values = singular_values(matrix);
  ASSERT_EQ(values.size(), 2U);
  EXPECT_NEAR(values[0], 3, 1e-14);
  EXPECT_NEAR(values[1], 2, 1e-14);
  for (double sigma : singular_values({{a, -b}, {b, a}})) EXPECT_NEAR(sigma, 1, 1e-14);
  EXPECT_THROW(singular_values(Table{}), Error);
  EXPECT_THROW(singular_values({{1, NAN}}), Error);
}

TEST(AttentionMatrices, AcceptFloatWeightsAndRefuseOthers) {
  Table rounded(3, 7, static_cast<double>(1.0f / 7));
  EXPECT_NEAR(attention_entropies(rounded).mean, std::log(7), 1e-12);
  EXPECT_THROW(attention_entropies({{.5, .5001}}), Error);
  EXPECT_THROW(attention_entropies({{1.5, -.5}}), Error);
  EXPECT_THROW(attention_entropies({{std::nan(""), 1}}), Error);
  EXPECT_THROW(attention_entropies(Table()), Error);
  EXPECT_THROW(attention_spectrum({{.5, .5}}), Error);
  EXPECT_NEAR(effective_rank({{.5, .5}}), 1, 1e-12);
}

}  // namespace
}  // namespace isentropic::information
