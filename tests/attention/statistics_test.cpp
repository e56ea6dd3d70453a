// Which statistics are computed, their types, bounds and relations.
#include "isentropic/statistics.hpp"

#include <cmath>
#include <limits>

#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::AttentionResult;
using isentropic::Statistic;
using isentropic::Statistics;
using support::Numbers;

constexpr Statistic kEvery[] = {
#define ISENTROPIC_LIST(name) Statistic::name,
    ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_LIST)
#undef ISENTROPIC_LIST
};

TEST(Statistics, NamesGoBothWays) {
  for (Statistic statistic : kEvery) {
    EXPECT_EQ(isentropic::statistic_named(isentropic::name(statistic)), statistic);
  }
  EXPECT_STREQ(isentropic::name(Statistic::log_partition), "log_partition");
  EXPECT_STREQ(isentropic::name(Statistic::mean_distance), "mean_distance");
}

TEST(Statistics, SetsHoldWhatWasAsked) {
  EXPECT_TRUE(Statistics::none().empty());
  const Statistics two = Statistics::of({Statistic::entropy, Statistic::peak});
  EXPECT_TRUE(two.has(Statistic::entropy));
  EXPECT_TRUE(two.has(Statistic::peak));
  EXPECT_FALSE(two.has(Statistic::collision));
  EXPECT_FALSE(two.wants_groups());
  EXPECT_TRUE(two.with(Statistic::collision).has(Statistic::collision));
  const Statistics grouped = two.groups(4, 32);
  EXPECT_TRUE(grouped.wants_groups());
  EXPECT_EQ(grouped.first_keys(), 4);
  EXPECT_EQ(grouped.recent_keys(), 32);
  EXPECT_TRUE(Statistics::all().has(Statistic::entropy));
  EXPECT_FALSE(Statistics::all().wants_groups());
}

// Requesting a single statistic computes only that one, with the same value as among all: a pass that accumulates fewer
// sums is a different kernel.
TEST(Statistics, EachAloneEqualsItselfAmongAll) {
  for (const Part& map : support::score_maps()) {
    Instance x = build({.sizes = kSmall, .parts = {support::causal(), map, support::groups(2, 3)}, .seed = 21});
    SCOPED_TRACE(map.name);
    if (x.problem.map.streams() && !x.oracle.map.straight_through) support::sink().apply(x);
    const reference::Forward expected = reference::forward(x.oracle);
    for (Statistic statistic : kEvery) {
      const auto found = expected.statistics.find(isentropic::name(statistic));
      if (found == expected.statistics.end()) continue;
      SCOPED_TRACE(isentropic::name(statistic));
      x.problem.statistics = Statistics::of({statistic});
      if (x.problem.statistics.wants_groups()) {
        // Statistics::of takes no group sizes: the defaults are one key and 64.
        EXPECT_EQ(x.problem.statistics.first_keys(), 1);
        EXPECT_EQ(x.problem.statistics.recent_keys(), 64);
        x.oracle.groups = {true, 1, 64};
      }
      const Numbers value = x.problem.statistics.wants_groups()
                                ? reference::forward(x.oracle).statistics.at(isentropic::name(statistic))
                                : found->second;
      const AttentionResult with_output = attention(x.problem);
      const AttentionResult alone = attention_statistics(x.problem);
      EXPECT_TRUE(support::close(with_output.output.to_doubles(), expected.output, support::kTight));
      for (const AttentionResult* result : {&with_output, &alone}) {
        for (Statistic other : kEvery) EXPECT_EQ(result->statistics[other].present(), other == statistic);
        EXPECT_TRUE(support::close(result->statistics[statistic].to_doubles(), value, support::kTight));
      }
    }
  }
}

TEST(Statistics, TypesAndShapes) {
  for (DType type : {DType::float32, DType::bfloat16, DType::float16, DType::float64}) {
    Instance x = build({.sizes = kSmall, .type = type, .seed = 22});
    x.problem.statistics = Statistics::all().groups(1, 2);
    const AttentionResult result = attention(x.problem);
    EXPECT_EQ(result.output.type(), type);
    for (Statistic statistic : kEvery) {
      const isentropic::Tensor& tensor = result.statistics[statistic];
      if (statistic == Statistic::sink_mass) continue;
      ASSERT_TRUE(tensor.present()) << isentropic::name(statistic);
      EXPECT_EQ(tensor.shape(), (isentropic::Shape{2, 4, 7}));
      const bool integer = statistic == Statistic::visible || statistic == Statistic::argmax;
      EXPECT_EQ(tensor.type(), integer ? DType::int64 : type == DType::float64 ? DType::float64 : DType::float32);
    }
  }
}

// The first key is so far above the rest that their weights underflow, and rows span several blocks: the others'
// entropy keeps all its digits. A NaN in the first key makes every statistic of the row NaN, even those of other keys.
TEST(Statistics, KeyGroupsBesideADominantKey) {
  const std::int64_t n = 1500;
  const std::vector<float> q(6, 1), v(n, 1);
  for (const double gap : {3.0, 20.0, 100.0, 1e4}) {
    std::vector<float> k(n, 0);
    k[0] = static_cast<float>(gap);
    isentropic::AttentionProblem problem{.query = isentropic::View(q.data(), {1, 1, 6, 1}),
                                         .key = isentropic::View(k.data(), {1, 1, n, 1}),
                                         .value = isentropic::View(v.data(), {1, 1, n, 1}),
                                         .mask = isentropic::Mask::causal(Align::end),
                                         .scale = isentropic::Scale::constant(1.0),
                                         .statistics = Statistics::all().groups(1, 64)};
    const isentropic::RowStatistics rows = attention(problem).statistics;
    for (std::int64_t i = 0; i < 6; ++i) {
      const double others = static_cast<double>(n - 6 + i);
      const double mass = 1 / (1 + others * std::exp(-gap));
      EXPECT_NEAR(rows.entropy_without_first.at({0, 0, i}), std::log(others), 4e-6) << gap;
      EXPECT_NEAR(rows.first_mass.at({0, 0, i}), mass, 1e-6) << gap;
      EXPECT_NEAR(rows.recent_mass.at({0, 0, i}), (1 - mass) * 64 / others, 1e-6) << gap;
    }
    k[0] = std::numeric_limits<float>::quiet_NaN();
    const isentropic::RowStatistics poisoned = attention(problem).statistics;
    EXPECT_TRUE(std::isnan(poisoned.entropy_without_first.at({0, 0, 5})));
    EXPECT_TRUE(std::isnan(poisoned.recent_mass.at({0, 0, 5})));
  }
}

// Holds for any softmax row, at every scale of the scores and with outliers.
TEST(Statistics, BoundsAndIdentities) {
  for (DType type : {DType::float64, DType::float32}) {
    const double eps = type == DType::float64 ? 2.3e-16 : 1.2e-7;
    for (double amplitude : {0.0, 0.03, 1.0, 5.0, 100.0}) {
      Instance x = build({.sizes = {.heads = 2, .kv_heads = 1, .n_q = 40, .n_k = 150, .d = 8, .d_v = 1},
                          .parts = {support::causal(Align::end)},
                          .type = type,
                          .amplitude = amplitude,
                          .seed = 23});
      x.problem.statistics = Statistics::all().groups(3, 10);
      const isentropic::RowStatistics rows = attention(x.problem).statistics;
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = 0; i < 40; ++i) {
          SCOPED_TRACE(testing::Message() << "amplitude " << amplitude << ", head " << h << ", row " << i);
          const auto at = [&](Statistic statistic) { return rows[statistic].at({0, h, i}); };
          const double k = at(Statistic::visible);
          const double rounding = 4 * k * eps;
          EXPECT_EQ(k, static_cast<double>(111 + i));
          EXPECT_GE(at(Statistic::entropy), 0);
          EXPECT_LE(at(Statistic::entropy), std::log(k) * (1 + eps));
          EXPECT_LE(at(Statistic::normalised_entropy), 1 + eps);
          EXPECT_GE(at(Statistic::score_variance), 0);
          EXPECT_GE(at(Statistic::peak) * k, 1 - rounding);
          EXPECT_LE(at(Statistic::peak), 1);
          EXPECT_GE(at(Statistic::collision) * k, 1 - rounding);
          EXPECT_LE(at(Statistic::collision), at(Statistic::peak) * (1 + rounding));
          EXPECT_LE(at(Statistic::sparsity), 1 + rounding);
          EXPECT_LE(at(Statistic::mean_score), at(Statistic::max_score));
          EXPECT_LE(at(Statistic::max_score), at(Statistic::log_partition));
          EXPECT_NEAR(at(Statistic::participation) * at(Statistic::collision), 1, rounding);
          EXPECT_NEAR(at(Statistic::effective_keys), std::exp(at(Statistic::entropy)), rounding * k);
          EXPECT_NEAR(at(Statistic::entropy), at(Statistic::log_partition) - at(Statistic::mean_score),
                      rounding * (1 + std::abs(at(Statistic::max_score))));
          EXPECT_GE(at(Statistic::first_mass), 0);
          EXPECT_LE(at(Statistic::first_mass) + at(Statistic::recent_mass), 1 + rounding);
          EXPECT_LE(at(Statistic::entropy_without_first), std::log(k - 3) * (1 + eps));
          EXPECT_GE(at(Statistic::mean_distance), -rounding * k);
          EXPECT_LE(at(Statistic::mean_distance), k);
        }
      }
    }
  }
}

TEST(KeyGroups, EverySizeUnderEveryMask) {
  std::uint64_t seed = 2000;
  for (const auto& masks : support::mask_combinations()) {
    for (const auto& [first, recent] : std::vector<std::pair<int, int>>{{0, 0}, {1, 0}, {0, 2}, {2, 64}, {100, 100}}) {
      check_forward({.sizes = seed % 2 ? kSmall : kMoreQueries,
                     .parts = joined(masks, {support::groups(first, recent)}),
                     .seed = ++seed});
    }
  }
}

// The first key takes nearly all the mass: the entropy of the rest keeps its digits.
TEST(KeyGroups, EntropyBesideADominantKey) {
  for (DType type : {DType::float64, DType::float32}) {
    std::vector<double> q = {1}, k = {1e4, 0, 0, 0, 0};
    Instance x = build({.sizes = {.n_q = 1, .n_k = 5, .d = 1, .d_v = 1}, .type = type});
    x.problem.query = x.store(&q, {1, 1, 1, 1});
    x.problem.key = x.store(&k, {1, 1, 5, 1});
    x.problem.statistics = Statistics::all().groups(1, 1);
    const isentropic::RowStatistics rows = attention(x.problem).statistics;
    EXPECT_EQ(rows.first_mass.at({0, 0, 0}), 1);
    EXPECT_EQ(rows.entropy.at({0, 0, 0}), 0);
    EXPECT_NEAR(rows.entropy_without_first.at({0, 0, 0}), std::log(4.0), type == DType::float64 ? 1e-15 : 2e-7);
  }
}

TEST(Statistics, RecordsAreThoseOfTheRows) {
  Instance x = build({.sizes = kSmall, .parts = {support::causal(), support::sink()}, .seed = 24});
  x.problem.statistics = Statistics::all();
  const AttentionResult result = attention(x.problem);
  const reference::Forward expected = reference::forward(x.oracle);
  const auto records = result.rows.records();
  ASSERT_EQ(records.size(), expected.visible.size());
  for (std::size_t r = 0; r < records.size(); ++r) {
    const auto& record = records[r];
    EXPECT_EQ(record.k, expected.visible[r]);
    EXPECT_EQ(static_cast<double>(record.a), expected.statistics.at("argmax")[r]);
    EXPECT_NEAR(isentropic::entropy(record), expected.statistics.at("entropy")[r], 1e-12);
    // Without the sink: L of the keys = E + H.
    EXPECT_NEAR(isentropic::log_partition(record),
                expected.statistics.at("mean_score")[r] + expected.statistics.at("entropy")[r], 1e-12);
  }
}

}  // namespace
}  // namespace attention_test
