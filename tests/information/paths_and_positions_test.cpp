// Path lengths that are exact integers; the information in position codes, in bits.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "isentropic/error.hpp"
#include "isentropic/information/dependency_paths.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/information/position_codes.hpp"

namespace isentropic::information {
namespace {

TEST(DependencyPaths, RecurrentFullCausalWindow) {
  const std::size_t window_layers[] = {1, 2, 16, 64};
  const double reachable[] = {.75, .5625, .5078125, .501953125};
  std::size_t row = 0;
  for (std::size_t n : {2, 8, 64, 256}) {
    const DependencyGraph recurrent = recurrent_graph(n);
    EXPECT_EQ(path_lengths(recurrent, 0)[2 * n - 1], n);      // x_1 to h_n
    EXPECT_EQ(path_lengths(recurrent, n)[2 * n - 1], n - 1);  // h_1 to h_n
    EXPECT_EQ(path_lengths(recurrent, n - 1)[n], n == 1 ? 1 : kUnreachable);
    EXPECT_EQ(summarise_paths(full_attention_graph(n)).longest, 1u);
    EXPECT_EQ(summarise_paths(full_attention_graph(n)).reachable_fraction, 1);
    EXPECT_EQ(summarise_paths(causal_attention_graph(n)).longest, 1u);
    EXPECT_DOUBLE_EQ(summarise_paths(causal_attention_graph(n)).reachable_fraction, reachable[row]);
    EXPECT_EQ(path_lengths(causal_attention_graph(n), n - 1)[0], kUnreachable);
    EXPECT_EQ(path_lengths(window_attention_graph(n, 4), 0)[n - 1], window_layers[row]);
    EXPECT_EQ(summarise_paths(window_attention_graph(n, 4)).longest, (n - 1 + 3) / 4);
    ++row;
  }
}

TEST(DependencyPaths, EdgesByHand) {
  using Edges = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(recurrent_graph(2).successors, (Edges{{2}, {3}, {3}, {}}));
  EXPECT_EQ(full_attention_graph(2).successors, (Edges{{0, 1}, {0, 1}}));
  EXPECT_EQ(causal_attention_graph(3).successors, (Edges{{0, 1, 2}, {1, 2}, {2}}));
  EXPECT_EQ(window_attention_graph(3, 1).successors, (Edges{{0, 1}, {0, 1, 2}, {1, 2}}));
}

TEST(DependencyPaths, EmptyAndBad) {
  EXPECT_EQ(summarise_paths(full_attention_graph(0)).longest, 0u);
  EXPECT_EQ(summarise_paths(window_attention_graph(3, 0)).reachable_fraction, 1.0 / 3);
  EXPECT_THROW(path_lengths(full_attention_graph(3), 3), Error);
  EXPECT_THROW(path_lengths({{{5}}}, 0), Error);
}

TEST(PositionCodes, AbsolutePosition) {
  for (std::size_t n : {16, 128, 1024})
    EXPECT_NEAR(to_bits(position_information(sinusoidal_codes(n, 8))), std::log2(n), 1e-12);
  std::vector<double> zipf(128);
  double sum = 0;
  for (std::size_t i = 0; i < 128; ++i) sum += zipf[i] = 1 / static_cast<double>(i + 1);
  for (double& p : zipf) p /= sum;
  EXPECT_NEAR(to_bits(position_information(sinusoidal_codes(128, 8), zipf)), 5.553, 5e-4);
  EXPECT_NEAR(to_bits(position_information(sinusoidal_codes(128, 2), {}, .25)), 4.934, 5e-4);
  EXPECT_EQ(position_information(Table(5, 3, 1.0)), 0);  // all the same
  // Rounded to the nearest half: 0, 0, 1/2, 1/2.
  EXPECT_NEAR(position_information({{0}, {.2}, {.3}, {.7}}, {}, .5), std::log(2), 1e-15);
}

TEST(PositionCodes, Offsets) {
  const OffsetInformation small = offset_information(sinusoidal_codes(16, 8));
  EXPECT_NEAR(to_bits(small.one_code), .716, 5e-4);
  EXPECT_NEAR(to_bits(small.both_codes), 4.716, 5e-4);
  EXPECT_NEAR(small.both_codes, small.entropy, 1e-12);
  EXPECT_NEAR(to_bits(small.both_codes - small.one_code), 4, 1e-12);
  const OffsetInformation large = offset_information(sinusoidal_codes(128, 8));
  EXPECT_NEAR(to_bits(large.one_code), .721, 5e-4);
  EXPECT_NEAR(to_bits(large.both_codes), 7.721, 5e-4);
  // Codes that do not distinguish all positions carry less information.
  const OffsetInformation blurred = offset_information(sinusoidal_codes(16, 2), {}, 1.0);
  EXPECT_LT(blurred.both_codes, blurred.entropy - .1);
  // Positions (1/2, 1/4, 1/4), offsets -2 ... 2 with probabilities (2, 3, 6, 3, 2) / 16. The first two codes are equal,
  // which leaves the offset uncertain: for pairs of these two, 4 + 2 + 2 + 1 of 16; for pairs with the third, 2 : 1.
  const OffsetInformation uneven = offset_information({{0}, {0}, {1}}, std::vector<double>{.5, .25, .25});
  const auto h = [](double p) { return -p * std::log(p); };
  EXPECT_NEAR(uneven.entropy, 2 * h(2.0 / 16) + 2 * h(3.0 / 16) + h(6.0 / 16), 1e-14);
  const double within_twos = h(5.0 / 9) + 2 * h(2.0 / 9), with_third = h(2.0 / 3) + h(1.0 / 3);
  EXPECT_NEAR(uneven.both_codes, uneven.entropy - 9.0 / 16 * within_twos - 6.0 / 16 * with_third, 1e-14);
  EXPECT_NEAR(offset_information(Table(4, 1, 0.0)).both_codes, 0, 1e-12);
}

// Frequencies 1 and 1/100 for d = 4 and base 10000; 1, 1/4 and 1/16 for d = 6 and base 64.
TEST(PositionCodes, SinusoidalByHand) {
  const Table four = sinusoidal_codes(4, 4);
  const double expected[] = {std::sin(3), std::cos(3), std::sin(.03), std::cos(.03)};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(four(3, k), expected[k], 1e-15) << k;
  const Table six = sinusoidal_codes(9, 6, 64);
  EXPECT_NEAR(six(8, 2), std::sin(2), 1e-14);
  EXPECT_NEAR(six(8, 5), std::cos(.5), 1e-14);
}

// The dot product of two sinusoidal codes depends only on their distance.
TEST(PositionCodes, SinusoidalGramIsToeplitz) {
  const Table codes = sinusoidal_codes(50, 16);
  const auto product = [&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t k = 0; k < 16; ++k) sum += codes(a, k) * codes(b, k);
    return sum;
  };
  for (std::size_t distance = 0; distance < 50; ++distance)
    for (std::size_t a = 0; a + distance < 50; ++a) EXPECT_NEAR(product(a, a + distance), product(0, distance), 1e-13);
}

TEST(PositionCodes, RefuseBadInput) {
  EXPECT_THROW(position_information(Table()), Error);
  EXPECT_THROW(position_information(Table(3, 1, std::nan(""))), Error);
  EXPECT_THROW(position_information(Table(3, 1, 1.0), std::vector<double>{.5, .5}), Error);
  EXPECT_THROW(position_information(Table(2, 1, 1.0), std::vector<double>{.5, .6}), Error);
  EXPECT_THROW(position_information(Table(2, 1, 1.0), {}, -1), Error);
  EXPECT_THROW(sinusoidal_codes(4, 3), Error);
  EXPECT_THROW(sinusoidal_codes(4, 0), Error);
  EXPECT_THROW(sinusoidal_codes(4, 2, 0), Error);
}

}  // namespace
}  // namespace isentropic::information
