// The requested instruction set is the one that runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>

#include "attention/cpu/tiles/narrow_blocks.hpp"
#include "isentropic/attention.hpp"
#include "isentropic/instruction_sets.hpp"

namespace isentropic {
namespace {

const InstructionSet& active() {
  static const std::vector<InstructionSet> sets = instruction_sets();
  return *std::find_if(sets.begin(), sets.end(), [](const InstructionSet& set) { return set.active; });
}

TEST(Kernels, TheListEndsInPlainCode) {
  const std::vector<InstructionSet> sets = instruction_sets();
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(sets.back().name, "portable");
  EXPECT_TRUE(sets.back().supported);
  EXPECT_EQ(std::count_if(sets.begin(), sets.end(), [](const InstructionSet& set) { return set.active; }), 1);
}

TEST(Kernels, TheForcedOneOrTheBestIsActive) {
  const std::vector<InstructionSet> sets = instruction_sets();
  const char* forced = std::getenv("ISENTROPIC_ISA");
  const auto best = std::find_if(sets.begin(), sets.end(), [](const InstructionSet& set) { return set.supported; });
  EXPECT_EQ(active().name, forced ? forced : best->name);
}

// With a = 1 + 2^-12 the product a^2 = 1 + 2^-11 + 2^-24 loses its last bit if it is rounded before the sum: only fused
// multiply-add sees that -(1 + 2^-11) + a^2 is 2^-24. The score thus reveals which kernels computed it.
TEST(Kernels, TheActiveOneFormedTheScores) {
  const float a = 1 + 0x1p-12f;
  const float q[] = {-1, a}, k[] = {1 + 0x1p-11f, a};
  // Enough rows for scores to come from the matrix product; a stride of 0 repeats the single row.
  const AttentionResult result = attention_statistics({.query = View(q, {1, 1, 16, 2}, {2, 2, 0, 1}),
                                                       .key = View(k, {1, 1, 1, 2}),
                                                       .scale = Scale::constant(0x1p24),
                                                       .statistics = Statistics::of({Statistic::max_score})});
  EXPECT_EQ(result.statistics.max_score.at({0, 0, 0}), active().name == "portable" ? 0 : 1);
}

bool multiplies_sixteen_bits() { return active().name == "amx" || active().name == "avx512_bf16"; }

// The largest score of the rows q against the single key k, both in bfloat16, times 2^exponent.
double largest_score(const std::vector<float>& q, const std::vector<float>& k, int exponent) {
  std::vector<bfloat16> rows, key;
  for (float x : q) rows.push_back(to_bfloat16(x));
  for (float x : k) key.push_back(to_bfloat16(x));
  const std::int64_t d = std::ssize(q);
  const AttentionResult result = attention_statistics({.query = View(rows.data(), {1, 1, 16, d}, {d, d, 0, 1}),
                                                       .key = View(key.data(), {1, 1, 1, d}),
                                                       .scale = Scale::constant(std::ldexp(1.0, exponent)),
                                                       .statistics = Statistics::of({Statistic::max_score})});
  return result.statistics.max_score.at({0, 0, 0});
}

// Instructions for bfloat16 flush subnormal products to 0; float32 ones do not.
TEST(Kernels, TheActiveOneFormedTheScoresOfBfloat16) {
  EXPECT_EQ(largest_score({0x1p-70f}, {0x1p-70f}, 127), multiplies_sixteen_bits() ? 0 : 0x1p-13);
}

// Tiles sum even and odd terms separately, so that 2^24 - 2^24 cannot swallow the 1 in between.
TEST(Kernels, TilesFormedTheScoresOfBfloat16) {
  EXPECT_EQ(largest_score({0x1p24f, 1, -0x1p24f, 0}, {1, 1, 1, 1}, 0), active().name == "amx" ? 1 : 0);
}

// Every remainder of rows and columns, stored and accumulated, in one plane and in two, against plain sums of the same
// numbers. Elements outside the result must not be touched.
TEST(Kernels, NarrowProductsAreRight) {
  if (!active_kernels().narrow) GTEST_SKIP() << active().name << " has no products of 16 bits";
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  const auto tensor = [&](DType type, std::int64_t rows, std::int64_t width) {
    Tensor out(type, {1, 1, rows, width});
    for (std::int64_t x = 0; x < out.size(); ++x) {
      const float value = normal(random);
      store(out, x, 1, &value);
    }
    return out;
  };
  for (const auto& [rows, inner, cols] : {std::array{1, 1, 1},
                                          {5, 31, 16},
                                          {15, 32, 17},
                                          {16, 33, 48},
                                          {17, 64, 33},
                                          {33, 80, 64},
                                          {48, 20, 15},
                                          {96, 128, 160},
                                          {100, 200, 100}})
    for (DType type : {DType::bfloat16, DType::float16}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << inner << " x " << cols << ", " << name(type));
      const int planes = type == DType::float16 ? 2 : 1;
      const Tensor a = tensor(type, rows, inner), columns = tensor(type, cols, inner), b = tensor(type, inner, cols);
      const std::vector<double> a_values = a.to_doubles(), column_values = columns.to_doubles(),
                                b_values = b.to_doubles();
      NarrowLeft left, raw;
      NarrowRight by_columns, by_rows;
      left.load(planes, a, 0, 0, 0, rows);
      raw.load(planes, columns, 0, 0, 0, cols);
      pack_columns(raw, by_columns);
      raw.load(planes, b, 0, 0, 0, inner);
      pack_rows(raw, cols, by_rows);
      const std::int64_t width = padded(cols), stride = width + 16;
      constexpr float kUntouched = 7;
      for (const NarrowRight* right : {&by_columns, &by_rows})
        for (Store how : {Store::overwrite, Store::accumulate}) {
          Buffer<float> out((rows + 1) * stride, kUntouched);
          multiply(left, 0, *right, rows, inner, width, out.data(), stride, how);
          for (std::int64_t r = 0; r <= rows; ++r)
            for (std::int64_t c = 0; c < stride; ++c) {
              double expected = r < rows && c < width && how == Store::overwrite ? 0 : kUntouched, size = 8;
              for (std::int64_t i = 0; r < rows && c < cols && i < inner; ++i) {
                const double x = a_values[r * inner + i];
                const double y = right == &by_columns ? column_values[c * inner + i] : b_values[i * cols + c];
                expected += x * y;
                size += std::abs(x * y);
              }
              // Each sum rounds once; a missing plane would be 2^-9 off.
              ASSERT_NEAR(out[r * stride + c], expected, 0x1p-24 * static_cast<double>(inner + 4) * size);
            }
        }
    }
}

}  // namespace
}  // namespace isentropic
