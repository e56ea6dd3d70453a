// Nearest-neighbour mutual information against other programs and closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>

#include "base/random.hpp"
#include "information/correlated.hpp"
#include "information/shared_data.hpp"
#include "isentropic/information/mutual_information.hpp"

namespace isentropic::information {
namespace {

std::vector<double> numbers_in(std::string text) {
  for (char& c : text)
    if (c == ',') c = ' ';
  std::istringstream in(text);
  std::vector<double> out;
  for (double x; in >> x;) out.push_back(x);
  return out;
}

Table columns_of_file(const std::filesystem::path& path, const std::string& columns) {
  std::ifstream in(path);
  const std::vector<double> wanted = numbers_in(columns);
  Table out;
  out.columns = wanted.size();
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('%')) continue;
    const std::vector<double> row = numbers_in(line);
    if (row.empty()) continue;
    for (double column : wanted) out.values.push_back(row.at(static_cast<std::size_t>(column)));
    ++out.rows;
  }
  return out;
}

// MILCA's MIxnyn values as recorded in JIDT's tests: algorithm 2, standardised, no noise, 1e-7.
TEST(KsgKnownValues, Jidt) {
  const std::filesystem::path folder = shared_data() / "jidt";
  SKIP_WITHOUT(folder / "expected_ksg2_nats.tsv");
  std::ifstream table(folder / "expected_ksg2_nats.tsv");
  int compared = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string file, x_columns, y_columns, ks, values;
    fields >> file >> x_columns >> y_columns >> ks >> values;
    const Table x = columns_of_file(folder / file, x_columns), y = columns_of_file(folder / file, y_columns);
    const std::vector<double> k_list = numbers_in(ks), expected = numbers_in(values);
    ASSERT_EQ(k_list.size(), expected.size());
    for (std::size_t i = 0; i < k_list.size(); ++i, ++compared) {
      const KsgOptions options{static_cast<int>(k_list[i]), KsgAlgorithm::two, Scaling::standardised};
      EXPECT_NEAR(ksg_mutual_information(x, y, options), expected[i], 1e-7)
          << file << " " << x_columns << " | " << y_columns << " k = " << k_list[i];
    }
  }
  EXPECT_EQ(compared, 58);
}

// ---- Tasks from "Beyond Normal" (Czyz et al. 2023), N = 10000; the truth from the closed form ----

constexpr std::size_t kSamples = 10000;
constexpr double kTolerance = .03;

double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
double half_cube(double x) { return std::copysign(std::pow(std::abs(x), 1.5), x); }
double wiggly(double x) { return x + .4 * std::sin(x) + .2 * std::sin(1.7 * x + 1) + .03 * std::sin(3.3 * x - 2.5); }

using Map = double (*)(double);

void expect_both(const Pair& pairs, double truth) {
  EXPECT_NEAR(ksg_mutual_information(pairs.x, pairs.y), truth, kTolerance);
  EXPECT_NEAR(ksg_mutual_information(pairs.x, pairs.y, {3, KsgAlgorithm::two, Scaling::standardised}), truth,
              kTolerance);
}

TEST(KsgKnownValues, NormalAndItsTransforms) {
  const double truth = -std::log(1 - .75 * .75) / 2;
  EXPECT_NEAR(truth, .413339, 1e-6);
  const Map identity = [](double x) { return x; };
  std::uint64_t seed = 10;
  for (Map map : {identity, Map(normal_cdf), Map(half_cube), Map(wiggly)}) {
    SCOPED_TRACE(seed);
    Pair pairs = correlated(kSamples, 1, .75, seed++);
    for (double& x : pairs.x.values) x = map(x);
    for (double& y : pairs.y.values) y = map(y);
    expect_both(pairs, truth);
  }
}

// X ~ U(0, 1), Y = X + U(-e, e): for e below 1/2, e - log(2 e); above, 1 / (4 e).
TEST(KsgKnownValues, AdditiveNoise) {
  for (double e : {.1, .75}) {
    SCOPED_TRACE(e);
    const double truth = e < .5 ? e - std::log(2 * e) : 1 / (4 * e);
    Random random(20);
    Pair pairs{Table(kSamples, 1), Table(kSamples, 1)};
    for (std::size_t i = 0; i < kSamples; ++i) {
      pairs.x(i, 0) = random.uniform();
      pairs.y(i, 0) = pairs.x(i, 0) + random.uniform(-e, e);
    }
    expect_both(pairs, truth);
  }
}

// Two independent normals divided by a chi with one degree of freedom, then asinh, which leaves I unchanged. Cauchy
// marginals have h = log(4 pi), the pair log(2 pi) + (3/2) E log(1 + r^2) = log(2 pi) + 3: together log(8 pi) - 3.
TEST(KsgKnownValues, Student) {
  Random random(30);
  Pair pairs{Table(kSamples, 1), Table(kSamples, 1)};
  for (std::size_t i = 0; i < kSamples; ++i) {
    const double chi = std::abs(random.normal());
    pairs.x(i, 0) = std::asinh(random.normal() / chi);
    pairs.y(i, 0) = std::asinh(random.normal() / chi);
  }
  const double truth = std::log(8 * std::numbers::pi) - 3;
  EXPECT_NEAR(truth, .224171, 1e-6);
  expect_both(pairs, truth);
}

TEST(KsgKnownValues, TwoPairs) {
  const double truth = -std::log(1 - .8 * .8);
  EXPECT_NEAR(truth, 1.021651, 1e-6);
  expect_both(correlated(kSamples, 2, .8, 40), truth);
}

// The setting of scikit-learn's own test: deviations 1 and 10, correlation .5, N = 1000, k = 3, 5, 7, 10% of the truth.
// A single draw spreads by .03, twice that; the mean of 40 draws by a third of it.
TEST(KsgKnownValues, ScikitLearnGaussian) {
  const double truth = -std::log(.75) / 2;
  for (int k : {3, 5, 7}) {
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Random random(50 + seed);
      Table x(1000, 1), y(1000, 1);
      for (std::size_t i = 0; i < 1000; ++i) {
        x(i, 0) = random.normal();
        y(i, 0) = 10 * (.5 * x(i, 0) + std::sqrt(.75) * random.normal());
      }
      mean += ksg_mutual_information(x, y, {k, KsgAlgorithm::one, Scaling::standardised}) / 40;
    }
    EXPECT_NEAR(mean, truth, .1 * truth) << "k = " << k;
  }
}

}  // namespace
}  // namespace isentropic::information
