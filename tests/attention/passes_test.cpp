// The passes besides the forward pass: weights of chosen rows, key mass, statistics only.
#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::Tensor;
using support::Numbers;

TEST(Weights, OfChosenRowsInTheOrderAsked) {
  for (const Part& map : {support::softmax(), support::top_k(2), support::sparsemax()}) {
    const Instance x = build({.sizes = kSmall, .parts = {support::causal(Align::end), map}, .seed = 61});
    const reference::Forward expected = reference::forward(x.oracle);
    const std::vector<std::int64_t> rows = {5, 0, 5, 2};
    const Tensor weights = attention_weights(x.problem, rows);
    ASSERT_EQ(weights.shape(), (isentropic::Shape{kSmall.batch, kSmall.heads, 4, kSmall.n_k}));
    for (std::int64_t b = 0; b < kSmall.batch; ++b) {
      for (std::int64_t h = 0; h < kSmall.heads; ++h) {
        for (std::int64_t r = 0; r < 4; ++r) {
          for (std::int64_t j = 0; j < kSmall.n_k; ++j) {
            const auto cell = static_cast<std::size_t>(x.oracle.cell(b, h, rows[static_cast<std::size_t>(r)], j));
            EXPECT_NEAR(weights.at({b, h, r, j}), expected.weights[cell], 1e-13) << map.name;
          }
        }
      }
    }
  }
}

TEST(Weights, OfNoRows) {
  const Instance x = build({.sizes = kSmall, .seed = 62});
  EXPECT_EQ(attention_weights(x.problem, {}).shape(), (isentropic::Shape{2, 4, 0, 9}));
}

TEST(Weights, AreFloat32ForNarrowInputs) {
  for (DType type : {DType::float32, DType::bfloat16, DType::float16}) {
    const Instance x = build({.sizes = kSmall, .type = type, .seed = 63});
    EXPECT_EQ(attention_weights(x.problem, {1}).type(), DType::float32);
  }
}

// Every row spreads a mass of 1 over its keys, so the masses sum to the number of rows that see any.
TEST(KeyMass, AddsUpToTheRows) {
  const Instance x = build({.sizes = kOdd, .parts = {support::causal(), support::window(9)}, .seed = 64});
  const Numbers mass = attention_key_mass(x.problem, attention(x.problem)).to_doubles();
  double sum = 0;
  for (double m : mass) sum += m;
  EXPECT_NEAR(sum, static_cast<double>(kOdd.heads * kOdd.n_q), 1e-10);
}

TEST(KeyMass, OfAStatisticsOnlyPass) {
  Instance x = build({.sizes = kSmall, .parts = {support::causal(), support::sink()}, .seed = 65});
  x.problem.statistics = isentropic::Statistics::of({isentropic::Statistic::entropy});
  const Tensor full = attention_key_mass(x.problem, attention(x.problem));
  x.problem.value = {};
  EXPECT_TRUE(support::identical(full, attention_key_mass(x.problem, attention_statistics(x.problem))));
}

// A statistics-only pass with all moments and a forward pass that keeps one record describe the same rows.
TEST(StatisticsAlone, AreThoseOfTheForwardPass) {
  for (DType type : {DType::float32, DType::float64}) {
    Instance x = build({.sizes = kOdd, .parts = {support::causal(Align::end)}, .type = type, .seed = 66});
    x.problem.statistics = isentropic::Statistics::all().groups(2, 8);
    const auto full = attention(x.problem), alone = attention_statistics(x.problem);
#define ISENTROPIC_CHECK(field) \
  EXPECT_TRUE(support::identical(full.statistics.field, alone.statistics.field)) << #field;
    ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_CHECK)
#undef ISENTROPIC_CHECK
  }
}

}  // namespace
}  // namespace attention_test
