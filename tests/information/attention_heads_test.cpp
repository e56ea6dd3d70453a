// Redundancy, similarity and diversity of hand-built heads; what heads say together on eight joint distributions.
#include "isentropic/information/attention_heads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/random.hpp"
#include "isentropic/error.hpp"

namespace isentropic::information {
namespace {

constexpr std::size_t kN = 8;

// Query q looks at a single key.
Table looking_at(const std::function<std::size_t(std::size_t)>& key) {
  Table out(kN, kN);
  for (std::size_t q = 0; q < kN; ++q) out(q, key(q)) = 1;
  return out;
}

std::vector<Table> copies(const Table& head, std::size_t count) { return std::vector<Table>(count, head); }

// The index as printed: mean of H(J1|J2) over all pairs, with a diagonal of zeros.
double printed_index(const std::vector<Table>& heads) {
  double sum = 0;
  for (std::size_t a = 0; a < heads.size(); ++a)
    for (std::size_t b = 0; b < heads.size(); ++b)
      if (a != b) {
        const Table joint = joint_of_heads(heads[b], heads[a]);  // rows: the condition
        sum += conditional_entropy(joint);
      }
  return to_bits(sum) / static_cast<double>(heads.size() * heads.size());
}

const Table kDiagonal = looking_at([](std::size_t q) { return q; });
const std::vector<Table> kBits = {looking_at([](std::size_t q) { return q >> 2; }),
                                  looking_at([](std::size_t q) { return (q >> 1) & 1; }),
                                  looking_at([](std::size_t q) { return q & 1; })};

TEST(AttentionHeads, RedundancyByHand) {
  EXPECT_NEAR(head_redundancy(copies(kDiagonal, 4)), 1, 1e-12);
  EXPECT_NEAR(head_redundancy(kBits), 0, 1e-12);
  EXPECT_NEAR(head_redundancy(copies(kBits[0], 3)), 1, 1e-12);
  EXPECT_NEAR(head_redundancy(copies(Table(kN, kN, 1.0 / kN), 4)), 0, 1e-12);
  EXPECT_NEAR(head_redundancy(copies(looking_at([](std::size_t) { return 3; }), 2)), 0, 1e-12);  // 0/0
  // One bit out of three: all that the poorer head knows.
  EXPECT_NEAR(head_redundancy(std::vector<Table>{kDiagonal, kBits[0]}), 1, 1e-12);
  // Half of the pairs redundant.
  EXPECT_NEAR(head_redundancy(std::vector<Table>{kBits[0], kBits[0], kBits[1]}), 1.0 / 3, 1e-12);
}

// The first head is along the rows; each query contributes an equal share.
TEST(AttentionHeads, JointByHand) {
  const Table joint = joint_of_heads({{1, 0, 0}, {0, 1, 0}}, {{1, 0, 0}, {.5, .5, 0}});
  EXPECT_EQ(joint.values, (std::vector<double>{.5, 0, 0, .25, .25, 0, 0, 0, 0}));
}

// The printed index calls identical heads less redundant than independent ones.
TEST(AttentionHeads, PrintedIndexRanksTheWrongWayRound) {
  EXPECT_NEAR(printed_index(copies(kDiagonal, 4)), 0, 1e-12);
  EXPECT_NEAR(printed_index(kBits), .667, 5e-4);
  EXPECT_NEAR(printed_index(copies(kBits[0], 3)), 0, 1e-12);
  const std::vector<Table> uniform = copies(Table(kN, kN, 1.0 / kN), 4);
  EXPECT_NEAR(printed_index(uniform), 2.25, 1e-12);  // by 1/h^2; 3 bits by 1/(h(h-1))
  EXPECT_NEAR(printed_index(uniform) * 16 / 12, 3.0, 1e-12);
  EXPECT_LT(printed_index(copies(kDiagonal, 4)), printed_index(kBits));
  EXPECT_GT(head_redundancy(copies(kDiagonal, 4)), head_redundancy(kBits));
}

// Fixed offsets: each head determines where the others look, yet no two look at the same key.
TEST(AttentionHeads, ShiftsSeparateRedundancyFromSimilarity) {
  std::vector<Table> shifts;
  for (std::size_t by = 0; by < 4; ++by) shifts.push_back(looking_at([by](std::size_t q) { return (q + by) % kN; }));
  EXPECT_NEAR(head_redundancy(shifts), 1, 1e-12);
  EXPECT_NEAR(head_similarity(shifts), 0, 1e-12);
  EXPECT_NEAR(head_diversity(shifts), std::log(4), 1e-12);
  const std::vector<Table> uniform = copies(Table(kN, kN, 1.0 / kN), 4);
  EXPECT_NEAR(head_redundancy(uniform), 0, 1e-12);
  EXPECT_NEAR(head_similarity(uniform), 1, 1e-12);
  EXPECT_NEAR(head_diversity(uniform), 0, 1e-12);
  EXPECT_NEAR(head_similarity(copies(kDiagonal, 4)), 1, 1e-12);
}

// Disjoint heads of equal entropy: their spread is 0, their diversity log h.
TEST(AttentionHeads, DiversityOfDisjointHeads) {
  std::vector<Table> heads;
  for (std::size_t h = 0; h < 4; ++h) {
    Table head(2, 8);
    for (std::size_t q = 0; q < 2; ++q) head(q, 2 * h) = head(q, 2 * h + 1) = .5;
    heads.push_back(head);
  }
  EXPECT_NEAR(head_diversity(heads), 1.3863, 5e-5);
}

TEST(AttentionHeads, OneQueryAndOtherBadInput) {
  const std::vector<Table> one = {Table{{.5, .5}}, Table{{.2, .8}}};
  EXPECT_THROW(head_redundancy(one), Error);
  EXPECT_THROW(joint_of_heads(one[0], one[1]), Error);
  EXPECT_NO_THROW(head_similarity(one));
  EXPECT_THROW(head_redundancy(copies(kDiagonal, 1)), Error);
  EXPECT_THROW(head_redundancy(std::vector<Table>{kDiagonal, Table(4, 4, .25)}), Error);
  EXPECT_THROW(head_diversity(std::vector<Table>{kDiagonal, Table(8, 8, .25)}), Error);
}

// ---- What heads say together ----

// Binary heads, uniform over those z for which y(z) >= 0.
Joint joint_of(std::size_t heads, const std::function<int(const std::vector<int>&)>& y) {
  Joint out;
  out.sizes.assign(heads, 2);
  out.sizes.push_back(8);
  out.p.assign((std::size_t{1} << heads) * 8, 0.0);
  double sum = 0;
  for (std::size_t index = 0; index < (std::size_t{1} << heads); ++index) {
    std::vector<int> z;
    for (std::size_t h = 0; h < heads; ++h) z.push_back(static_cast<int>(index >> (heads - 1 - h)) & 1);
    const int value = y(z);
    if (value < 0) continue;
    out.p[index * 8 + static_cast<std::size_t>(value)] = 1;
    sum += 1;
  }
  for (double& p : out.p) p /= sum;
  return out;
}

double pair_terms(const HeadDecomposition& found) {
  double sum = 0;
  for (const auto& term : found.terms)
    if (term.heads.size() == 2) sum += term.co_information;
  return sum;
}

double single_sum(const HeadDecomposition& found) {
  double sum = 0;
  for (double x : found.single) sum += x;
  return sum;
}

struct Case {
  const char* name;
  std::size_t heads;
  std::function<int(const std::vector<int>&)> y;
  double truth, printed, unordered;  // bits: exact, with ordered pairs subtracted, with unordered pairs subtracted
};

TEST(HeadDecomposition, EightJoints) {
  const Case cases[] = {{"two copies", 2, [](auto& z) { return z[0] == z[1] ? z[0] : -1; }, 1, 0, 1},
                        {"XOR", 2, [](auto& z) { return z[0] ^ z[1]; }, 1, 2, 1},
                        {"independent pair", 2, [](auto& z) { return 2 * z[0] + z[1]; }, 2, 2, 2},
                        {"AND", 2, [](auto& z) { return z[0] & z[1]; }, .8113, 1.0, .8113},
                        {"three copies", 3, [](auto& z) { return z[0] == z[1] && z[1] == z[2] ? z[0] : -1; }, 1, -3, 0},
                        {"parity", 3, [](auto& z) { return z[0] ^ z[1] ^ z[2]; }, 1, 0, 0},
                        {"majority", 3, [](auto& z) { return z[0] + z[1] + z[2] > 1 ? 1 : 0; }, 1, 1.302, .934},
                        {"independent triple", 3, [](auto& z) { return 4 * z[0] + 2 * z[1] + z[2]; }, 3, 3, 3}};
  for (const Case& c : cases) {
    const HeadDecomposition found = decompose_heads(joint_of(c.heads, c.y));
    EXPECT_NEAR(to_bits(found.total), c.truth, 1e-3) << c.name;
    EXPECT_NEAR(found.chain_sum(), found.total, 1e-12) << c.name;
    EXPECT_NEAR(found.inclusion_exclusion(), found.total, 1e-12) << c.name;
    EXPECT_NEAR(to_bits(single_sum(found) - pair_terms(found)), c.unordered, 1e-3) << c.name;
  }
}

// The printed form subtracts every pair twice; here are the values it gives, and three heads need the triple term too.
TEST(HeadDecomposition, PrintedFormMisses) {
  const auto printed = [](const HeadDecomposition& found) {
    return to_bits(single_sum(found) - 2 * pair_terms(found));
  };
  const auto copies2 = decompose_heads(joint_of(2, [](auto& z) { return z[0] == z[1] ? z[0] : -1; }));
  EXPECT_NEAR(printed(copies2), 0, 1e-12);
  EXPECT_NEAR(to_bits(pair_terms(copies2)), 1, 1e-12);  // redundancy: positive
  const auto exclusive = decompose_heads(joint_of(2, [](auto& z) { return z[0] ^ z[1]; }));
  EXPECT_NEAR(printed(exclusive), 2, 1e-12);
  EXPECT_NEAR(to_bits(pair_terms(exclusive)), -1, 1e-12);  // synergy: negative
  const auto copies3 = decompose_heads(joint_of(3, [](auto& z) { return z[0] == z[1] && z[1] == z[2] ? z[0] : -1; }));
  EXPECT_NEAR(printed(copies3), -3, 1e-12);
}

TEST(HeadDecomposition, RandomJoints) {
  Random random(5);
  double pairs_miss = 0;
  for (std::size_t heads : {1, 2, 3, 4}) {
    for (int trial = 0; trial < 50; ++trial) {
      Joint joint;
      joint.sizes.assign(heads, 2);
      joint.sizes.push_back(3);
      joint.p = random.probabilities((std::size_t{1} << heads) * 3);
      const HeadDecomposition found = decompose_heads(joint);
      EXPECT_NEAR(found.chain_sum(), found.total, 1e-12);
      EXPECT_NEAR(found.inclusion_exclusion(), found.total, 1e-12);
      EXPECT_EQ(found.terms.size(), (std::size_t{1} << heads) - 1);
      EXPECT_TRUE(std::ranges::is_sorted(found.terms, {}, [](const auto& term) { return term.heads.size(); }));
      // Against the general co-information.
      for (const auto& term : found.terms) {
        std::vector<Variables> groups = {{heads}};
        for (std::size_t h : term.heads) groups.push_back({h});
        EXPECT_NEAR(term.co_information, co_information(joint, groups), 1e-12);
      }
      if (heads == 3) pairs_miss += std::abs(single_sum(found) - pair_terms(found) - found.total) / 50;
    }
  }
  EXPECT_GT(pairs_miss, 1e-3);
}

TEST(HeadDecomposition, RefusesBadInput) {
  EXPECT_THROW(decompose_heads({{2}, {.5, .5}}), Error);
  EXPECT_THROW(decompose_heads({{2, 2}, {.5, .5}}), Error);
  EXPECT_THROW(decompose_heads({{1, 2}, {.5, .6}}), Error);
  EXPECT_THROW(decompose_heads({std::vector<std::size_t>(18, 1), {1}}), Error);  // 17 heads
}

}  // namespace
}  // namespace isentropic::information
