// The Gaussian bottleneck: its scalar closed form, its covariances, and the discrete solver on a fine grid.
#include "isentropic/information/gaussian_bottleneck.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "experiments/tools/algebra.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/bottleneck.hpp"
#include "isentropic/information/critical_beta.hpp"

namespace isentropic::information {
namespace {

using experiments::tools::product, experiments::tools::transposed;

Table block(const Table& a, std::size_t row, std::size_t column, std::size_t rows, std::size_t columns) {
  Table out(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) out(i, j) = a(row + i, column + j);
  return out;
}

// Log-determinant of a positive definite table, by elimination without pivoting.
double log_determinant(Table a) {
  double sum = 0;
  for (std::size_t k = 0; k < a.rows; ++k) {
    sum += std::log(a(k, k));
    for (std::size_t i = k + 1; i < a.rows; ++i) {
      const double factor = a(i, k) / a(k, k);
      for (std::size_t j = k; j < a.columns; ++j) a(i, j) -= factor * a(k, j);
    }
  }
  return sum;
}

TEST(GaussianBottleneck, ByHand) {
  const std::vector<double> rho = {std::sqrt(.5)};
  const GaussianBottleneck found = gaussian_bottleneck(rho, .25);
  EXPECT_NEAR(found.information_x, std::log(3) / 2, 1e-14);
  EXPECT_NEAR(found.information_y, std::log(1.5) / 2, 1e-14);
}

TEST(GaussianBottleneck, ScalarValues) {
  const std::vector<double> rho = {.9};
  const double rows[][3] = {{.05, 2.197, .805}, {.2, 1.418, .719}, {.5, .725, .484}, {.7, .301, .228}};
  for (const auto& [beta, x, y] : rows) {
    const GaussianBottleneck found = gaussian_bottleneck(rho, beta);
    EXPECT_NEAR(found.information_x, x, 5e-4) << beta;
    EXPECT_NEAR(found.information_y, y, 5e-4) << beta;
    EXPECT_NEAR(found.information_y, -.5 * std::log(1 - .81 * (1 - std::exp(-2 * found.information_x))), 1e-12);
  }
  for (double beta : {.81, .9, 1.2}) {
    EXPECT_EQ(gaussian_bottleneck(rho, beta).information_x, 0);
    EXPECT_EQ(gaussian_bottleneck(rho, beta).components, 0u);
  }
}

// From covariances: the code's informations, computed from determinants, match the reported ones, and no nearby code
// does better.
TEST(GaussianBottleneck, ProjectionReachesWhatItPromises) {
  constexpr std::size_t kX = 4, kY = 3, kAll = kX + kY;
  Random random(3);
  const Table mixing(kAll, kAll, random.normals(kAll * kAll));
  Table all = product(mixing, transposed(mixing));
  for (std::size_t i = 0; i < kAll; ++i) all(i, i) += 0.1;
  const Table xx = block(all, 0, 0, kX, kX), yy = block(all, kX, kX, kY, kY), xy = block(all, 0, kX, kX, kY);
  // I(Z;Y) = [log det cov Z + log det cov Y - log det cov (Z,Y)] / 2 with (Z,Y) = B (X,Y) + noise on Z.
  const auto informations = [&](const Table& a) {
    Table b(a.rows + kY, kAll);
    for (std::size_t i = 0; i < a.rows; ++i)
      for (std::size_t j = 0; j < kX; ++j) b(i, j) = a(i, j);
    for (std::size_t i = 0; i < kY; ++i) b(a.rows + i, kX + i) = 1;
    Table zy = product(product(b, all), transposed(b));
    for (std::size_t i = 0; i < a.rows; ++i) zy(i, i) += 1;
    const double z = log_determinant(block(zy, 0, 0, a.rows, a.rows));
    return std::pair(z / 2, (z + log_determinant(yy) - log_determinant(zy)) / 2);
  };
  std::size_t components = kX;
  for (double beta : {.05, .2, .4, .6, .8, .95}) {
    const GaussianBottleneck found = gaussian_bottleneck(xx, yy, xy, beta);
    EXPECT_LE(found.components, components);
    components = found.components;
    if (components == 0) continue;
    const auto [x, y] = informations(found.projection);
    EXPECT_NEAR(x, found.information_x, 1e-9) << beta;
    EXPECT_NEAR(y, found.information_y, 1e-9) << beta;
    for (int trial = 0; trial < 200; ++trial) {
      Table other = found.projection;
      for (double& v : other.values) v += 0.1 * random.normal();
      const auto [other_x, other_y] = informations(other);
      EXPECT_LE(other_y - beta * other_x, y - beta * x + 1e-12);
    }
  }
  EXPECT_LT(components, 3u);  // some have vanished by the last beta
}

// Two densities discretised into cells: the discrete solver must come close to the closed form.
TEST(GaussianBottleneck, DiscreteSolverAgreesOnAGrid) {
  const double rho = .7;
  const std::size_t n = 24;
  Table joint(n, n);
  double sum = 0;
  const auto centre = [&](std::size_t i) { return -3.5 + 7 * (static_cast<double>(i) + .5) / static_cast<double>(n); };
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double x = centre(i), y = centre(j);
      sum += joint(i, j) = std::exp(-(x * x - 2 * rho * x * y + y * y) / (2 * (1 - rho * rho)));
    }
  for (double& p : joint.values) p /= sum;
  EXPECT_NEAR(squared_maximal_correlation(joint), rho * rho, .01);
  const std::vector<double> betas = {.1, .2, .3, .4}, correlations = {rho};
  const BottleneckCurve curve =
      bottleneck_curve(joint, betas, {.most_iterations = 3000, .tolerance = 1e-10, .random_starts = 0});
  for (const BottleneckCode& point : curve.points) {
    const GaussianBottleneck exact = gaussian_bottleneck(correlations, point.beta);
    EXPECT_NEAR(point.information_y - point.beta * point.information_x,
                exact.information_y - point.beta * exact.information_x, .01)
        << point.beta;
  }
}

TEST(GaussianBottleneck, RefusesBadInput) {
  const std::vector<double> one = {1.0}, negative = {-.1}, good = {.5};
  EXPECT_THROW(gaussian_bottleneck(one, .5), Error);
  EXPECT_THROW(gaussian_bottleneck(negative, .5), Error);
  EXPECT_THROW(gaussian_bottleneck(good, 0), Error);
  EXPECT_THROW(gaussian_bottleneck({{1.0}}, {{1.0}}, {{.5, .5}}, .5), Error);
  EXPECT_THROW(gaussian_bottleneck({{-1.0}}, {{1.0}}, {{.5}}, .5), Error);
  EXPECT_THROW(gaussian_bottleneck({{1.0}}, {{1.0}}, {{1.5}}, .5), Error);
}

}  // namespace
}  // namespace isentropic::information
