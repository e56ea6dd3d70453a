// The entropy of a position bias and the information in an attention output, against explicit sums.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "isentropic/error.hpp"
#include "isentropic/theory/attention_channel.hpp"
#include "isentropic/theory/position_bias.hpp"
#include "theory/naive_softmax.hpp"

namespace isentropic::theory {
namespace {

TEST(PositionBias, GeometricLaw) {
  for (const double slope : {1e-9, 1e-3, 0.1, std::log(2.0), 3.0})
    for (const std::size_t n : {1u, 2u, 256u, 4096u}) {
      std::vector<double> scores(n);
      for (std::size_t x = 0; x < n; ++x) scores[x] = -slope * static_cast<double>(x);
      EXPECT_NEAR(one_sided_alibi_entropy(slope, static_cast<std::int64_t>(n)), naive::entropy(scores), 1e-11)
          << slope << ' ' << n;
    }
  EXPECT_NEAR(one_sided_alibi_entropy(std::log(2.0)), 2 * std::log(2.0), 1e-14);
  EXPECT_NEAR(one_sided_alibi_entropy(0.1), 3.3030, 5e-5);
  EXPECT_NEAR(one_sided_alibi_entropy(0.1), one_sided_alibi_entropy(0.1, 4096), 1e-12);
  EXPECT_EQ(one_sided_alibi_entropy(0, 8), std::log(8.0));
  EXPECT_THROW(one_sided_alibi_entropy(0), Error);
  EXPECT_THROW(one_sided_alibi_entropy(1, 0), Error);
}

TEST(AttentionChannel, Values) {
  std::vector<double> one(16, 0.0), half(16, 0.0);
  one[0] = 1, half[0] = half[1] = 0.5;
  EXPECT_NEAR(gaussian_output_information(one, 1, 0.1), 1.199, 5e-4);
  EXPECT_NEAR(gaussian_output_information(half, 1, 0.1), 0.896, 5e-4);
  EXPECT_NEAR(gaussian_output_information(std::vector<double>(16, 1.0 / 16), 1, 0.1), 0.243, 5e-4);
  EXPECT_NEAR(gaussian_output_information(half, 2, 0.5), std::log(3.0) / 2, 1e-15);  // 1 + (2 / 0.5) / 2
  // All 2^10 outcomes of ten coins.
  std::map<int, double> heads;
  for (unsigned pattern = 0; pattern < 1024; ++pattern) heads[__builtin_popcount(pattern)] += 1.0 / 1024;
  std::vector<double> p;
  for (const auto& [count, probability] : heads) p.push_back(probability);
  EXPECT_NEAR(coin_output_information(10), naive::entropy_of_weights(p), 1e-13);
  EXPECT_NEAR(coin_output_information(16), 2.112, 5e-4);
  EXPECT_THROW(gaussian_output_information(one, 1, 0), Error);
}

}  // namespace
}  // namespace isentropic::theory
