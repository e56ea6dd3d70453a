// Scores of bounded norm: the bound is attained where the header says, and descent never goes below it.
#include "isentropic/theory/collapse.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "isentropic/error.hpp"
#include "theory/naive_softmax.hpp"

namespace isentropic::theory {
namespace {

std::vector<double> rescaled(std::vector<double> scores, double norm) {
  double squares = 0;
  for (double s : scores) squares += s * s;
  for (double& s : scores) s *= norm / std::sqrt(squares);
  return scores;
}

// Steepest descent of the entropy on the sphere.
double descend(std::vector<double> scores, double norm) {
  scores = rescaled(std::move(scores), norm);
  double least = naive::entropy(scores);
  for (int t = 0; t < 300; ++t) {
    const std::vector<double> a = naive::softmax(scores);
    const double h = naive::entropy_of_weights(a);
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] > 0) scores[i] += 2 * a[i] * (std::log(a[i]) + h);
    scores = rescaled(std::move(scores), norm);
    least = std::min(least, naive::entropy(scores));
  }
  return least;
}

TEST(Collapse, AttainedByOneScoreUp) {
  for (const std::size_t n : {2u, 5u, 64u})
    for (const double norm : {0.1, 1.0, 4.0, 20.0}) {
      const auto t = static_cast<double>(n);
      std::vector<double> scores(n, -norm / std::sqrt(t * (t - 1)));
      scores[0] = norm * std::sqrt((t - 1) / t);
      EXPECT_NEAR(naive::entropy(scores), least_entropy_of_norm(static_cast<std::int64_t>(n), norm), 1e-12) << n;
      // As printed in the paper.
      const double beta = std::exp(-norm * std::sqrt(t / (t - 1)));
      EXPECT_NEAR(least_entropy_of_norm(static_cast<std::int64_t>(n), norm),
                  std::log(1 + (t - 1) * beta) + norm * std::sqrt(t * (t - 1)) * beta / (1 + (t - 1) * beta), 1e-12);
    }
  EXPECT_NEAR(least_entropy_of_norm(2, std::log(3.0) / std::sqrt(2.0)), 0.562335, 1e-6);
  EXPECT_EQ(least_entropy_of_norm(1, 3), 0);
}

TEST(Collapse, NoDescentFindsLess) {
  Random random(3);
  for (const std::size_t n : {2u, 3u, 8u, 32u})
    for (const double norm : {0.3, 1.0, 3.0, 8.0}) {
      double least = std::log(static_cast<double>(n));
      for (int start = 0; start < 20; ++start) least = std::min(least, descend(random.normals(n), norm));
      const double bound = least_entropy_of_norm(static_cast<std::int64_t>(n), norm);
      EXPECT_GE(least, bound - 1e-12) << n << ' ' << norm;
      EXPECT_LE(least, bound + 0.02) << n << ' ' << norm;  // and comes close
    }
}

TEST(Collapse, NormThatKeepsAnEntropyInvertsIt) {
  for (const std::int64_t n : {2, 10, 4096})
    for (const double share : {0.01, 0.5, 0.99}) {
      const double entropy = share * std::log(static_cast<double>(n));
      EXPECT_NEAR(least_entropy_of_norm(n, norm_that_keeps_entropy(n, entropy)), entropy, 1e-12);
    }
  EXPECT_EQ(norm_that_keeps_entropy(5, 0), std::numeric_limits<double>::infinity());
  EXPECT_THROW(norm_that_keeps_entropy(5, std::log(5.0)), Error);
  EXPECT_THROW(norm_that_keeps_entropy(1, 0), Error);
  EXPECT_THROW(least_entropy_of_norm(5, -1), Error);
}

}  // namespace
}  // namespace isentropic::theory
