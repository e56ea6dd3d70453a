// The instruction set that is asked for is the one that runs.
#include "isentropic/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "isentropic/attention.hpp"

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

// With a = 1 + 2^-12 the product a^2 = 1 + 2^-11 + 2^-24 loses its last bit when it is rounded before the sum: only
// fused multiply-add sees that -(1 + 2^-11) + a^2 is 2^-24. So the score tells which kernels formed it.
TEST(Kernels, TheActiveOneFormedTheScores) {
  const float a = 1 + 0x1p-12f;
  const float q[] = {-1, a}, k[] = {1 + 0x1p-11f, a};
  // More than a few rows, so that scores come from products; a stride of 0 repeats the one there is.
  const AttentionResult result = attention_statistics({.query = View(q, {1, 1, 16, 2}, {2, 2, 0, 1}),
                                                       .key = View(k, {1, 1, 1, 2}),
                                                       .scale = Scale::constant(0x1p24),
                                                       .statistics = Statistics::of({Statistic::max_score})});
  EXPECT_EQ(result.statistics.max_score.at({0, 0, 0}), active().name == "portable" ? 0 : 1);
}

}  // namespace
}  // namespace isentropic
