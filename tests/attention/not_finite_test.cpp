// Non-finite values stay within the rows that see them.
#include <cmath>
#include <limits>

#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::AttentionResult;
using isentropic::Mask;
using isentropic::ScoreMap;
using isentropic::Statistics;
using isentropic::Tensor;
using isentropic::View;
using support::Numbers;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Replaces one number of an input; rows that cannot see it must stay bitwise identical.
struct Poisoned {
  Poisoned(const Case& description, double poison, Numbers reference::Problem::*member, std::size_t at,
           View isentropic::AttentionProblem::*view)
      : clean(build(description)), dirty(build(description)) {
    (dirty.oracle.*member)[at] = poison;
    dirty.problem.*view = dirty.store(&(dirty.oracle.*member), (dirty.problem.*view).shape);
    clean.problem.statistics = dirty.problem.statistics = Statistics::all().groups(1, 2);
  }
  Instance clean, dirty;
};

bool row_is_finite(const Tensor& output, std::int64_t h, std::int64_t i) {
  for (std::int64_t t = 0; t < output.shape()[3]; ++t) {
    if (!std::isfinite(output.at({0, h, i, t}))) return false;
  }
  return true;
}

void expect_same_row(const AttentionResult& x, const AttentionResult& y, std::int64_t h, std::int64_t i) {
  for (std::int64_t t = 0; t < x.output.shape()[3]; ++t) {
    EXPECT_EQ(x.output.at({0, h, i, t}), y.output.at({0, h, i, t})) << "row " << i;
  }
#define ISENTROPIC_CHECK(field)                                                                   \
  if (x.statistics.field.present()) {                                                             \
    EXPECT_EQ(x.statistics.field.at({0, h, i}), y.statistics.field.at({0, h, i})) << #field << i; \
  }
  ISENTROPIC_FOR_EACH_STATISTIC(ISENTROPIC_CHECK)
#undef ISENTROPIC_CHECK
}

const Sizes kRows{.heads = 2, .kv_heads = 2, .n_q = 70, .n_k = 70, .d = 4, .d_v = 3};

TEST(NotFinite, StaysInItsQueryRow) {
  for (DType type : {DType::float64, DType::float32, DType::bfloat16}) {
    for (double poison : {kNaN, kInfinity, -kInfinity}) {
      Poisoned x({.sizes = kRows, .parts = {support::causal()}, .type = type, .seed = 43}, poison,
                 &reference::Problem::query, (1 * 70 + 20) * 4 + 2, &isentropic::AttentionProblem::query);
      const AttentionResult clean = attention(x.clean.problem), dirty = attention(x.dirty.problem);
      const support::RandomUpstream upstream(x.clean, support::UpstreamParts::both);
      const Tensor clean_gradient = attention_backward(x.clean.problem, clean, upstream.views).query;
      const Tensor dirty_gradient = attention_backward(x.dirty.problem, dirty, upstream.views).query;
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = 0; i < 70; ++i) {
          const bool same = clean_gradient.at({0, h, i, 1}) == dirty_gradient.at({0, h, i, 1});
          EXPECT_TRUE(same || (h == 1 && i == 20)) << "gradient of query " << i;
          if (h == 1 && i == 20) {
            EXPECT_FALSE(row_is_finite(dirty.output, h, i));
            EXPECT_FALSE(std::isfinite(dirty.statistics.log_partition.at({0, h, i})));
          } else {
            expect_same_row(clean, dirty, h, i);
          }
        }
      }
    }
  }
}

TEST(NotFinite, InAKeyReachesOnlyTheRowsThatSeeIt) {
  for (DType type : {DType::float64, DType::float32, DType::bfloat16}) {
    for (double poison : {kNaN, kInfinity}) {
      Poisoned x({.sizes = kRows, .parts = {support::causal()}, .type = type, .seed = 44}, poison,
                 &reference::Problem::key, (0 * 70 + 30) * 4 + 1, &isentropic::AttentionProblem::key);
      const AttentionResult clean = attention(x.clean.problem), dirty = attention(x.dirty.problem);
      for (std::int64_t i = 0; i < 70; ++i) {
        expect_same_row(clean, dirty, 1, i);
        if (i < 30) expect_same_row(clean, dirty, 0, i);
        const bool must_show = i >= 30 && std::isnan(poison);  // an infinite key may get a score of -inf
        EXPECT_FALSE(must_show && row_is_finite(dirty.output, 0, i)) << i;
      }
    }
  }
}

// A row that sees nothing, or whose upstream gradients are all 0, contributes to no gradient, not even the scale's.
TEST(NotFinite, InARowWithoutGradientReachesNobody) {
  const Sizes sizes{.heads = 2, .kv_heads = 1, .n_q = 6, .n_k = 8, .d = 2, .d_v = 2};
  std::vector<char> sees(6 * 8, 1);
  std::fill_n(sees.begin() + 2 * 8, 8, 0);
  const Part hides_row_two{"row 2 sees nothing", [&](Instance& x) {
                             x.problem.mask = Mask::none().dense(x.store_flags(sees, {1, 1, 6, 8}));
                           }};
  for (const Part& hides : {hides_row_two, support::unmasked()}) {
    for (const Part& map : support::score_maps()) {
      for (DType type : {DType::float64, DType::float32, DType::bfloat16}) {
        for (double poison : {kNaN, kInfinity}) {
          Case description{.sizes = sizes, .parts = {hides, support::log_n(), map}, .type = type, .seed = 47};
          SCOPED_TRACE(testing::Message() << description.describe() << ", poison " << poison);
          Poisoned x(description, poison, &reference::Problem::query, 2 * 2 + 1, &isentropic::AttentionProblem::query);
          x.clean.problem.statistics = x.dirty.problem.statistics = Statistics::all();
          Numbers upstream = x.clean.random.normals(2 * 6 * 2);
          for (std::int64_t c : {0, 1}) upstream[2 * 2 + c] = 0;
          const isentropic::AttentionUpstream views{.output = x.clean.store(&upstream, {1, 2, 6, 2})};
          const auto clean = attention_backward(x.clean.problem, attention(x.clean.problem), views);
          const auto dirty = attention_backward(x.dirty.problem, attention(x.dirty.problem), views);
          // Rows next to a non-finite one are multiplied in a different order: off by an ulp or two.
          const double ulps = type == DType::float64 ? 1e-15 : type == DType::float32 ? 5e-7 : 2e-2;
          for (Tensor isentropic::AttentionGradients::*part :
               {&isentropic::AttentionGradients::query, &isentropic::AttentionGradients::key,
                &isentropic::AttentionGradients::value, &isentropic::AttentionGradients::lambda})
            EXPECT_TRUE(support::close((dirty.*part).to_doubles(), (clean.*part).to_doubles(), ulps));
          ASSERT_EQ(dirty.scale_parameters.size(), 1u);
          EXPECT_TRUE(std::isfinite(dirty.scale_parameters[0].at({0})));
        }
      }
    }
  }
}

// Every way to hide a key hides its content.
TEST(NotFinite, InAMaskedKeyOrValueReachesNobody) {
  std::vector<std::vector<Part>> masks;
  const auto hides_key_five = [](std::string name, std::function<void(Instance&)> apply) {
    return std::vector<Part>{{name, apply}};
  };
  masks.push_back({support::key_lengths({5})});
  masks.push_back(hides_key_five("dense boolean", [](Instance& x) {
    std::vector<char> flags(8, 1);
    flags[5] = 0;
    x.problem.mask = Mask::none().dense(x.store_flags(flags, {1, 1, 1, 8}));
  }));
  for (double hidden : {-kInfinity, support::lowest(DType::float32)}) {
    masks.push_back(hides_key_five("dense additive", [=](Instance& x) {
      Numbers added(8, 0);
      added[5] = hidden;
      x.problem.mask = Mask::none().dense(x.store(&added, {1, 1, 1, 8}, DType::float32));
    }));
    masks.push_back(hides_key_five("dense bias", [=](Instance& x) {
      Numbers added(8, 0);
      added[5] = hidden;
      x.problem.bias = isentropic::Bias::dense(x.store(&added, {1, 1, 1, 8}, DType::float32));
    }));
  }
  masks.push_back(hides_key_five("block-sparse", [](Instance& x) {
    x.problem.mask = Mask::none().block_sparse(x.store_flags({1, 1, 0, 1}, {1, 1, 1, 4}), 8, 2);
  }));
  for (const auto& mask : masks) {
    for (const Part& map : support::score_maps()) {
      for (double poison : {kNaN, kInfinity, -kInfinity}) {
        for (const bool in_key : {true, false}) {
          Case description{.sizes = {.heads = 2, .kv_heads = 1, .n_q = 6, .n_k = 8, .d = 2, .d_v = 2},
                           .parts = joined(mask, {map}),
                           .type = DType::float32,
                           .seed = 45};
          SCOPED_TRACE(testing::Message()
                       << description.describe() << ", poison " << poison << " in " << (in_key ? "key" : "value"));
          Poisoned x(description, poison, in_key ? &reference::Problem::key : &reference::Problem::value, 5 * 2 + 1,
                     in_key ? &isentropic::AttentionProblem::key : &isentropic::AttentionProblem::value);
          x.clean.problem.statistics = x.dirty.problem.statistics = Statistics::all();
          const AttentionResult clean = attention(x.clean.problem), dirty = attention(x.dirty.problem);
          support::expect_identical(clean, dirty);
          // The same goes for gradients: those of the hidden key and value are 0.
          support::RandomUpstream upstream(x.clean, support::UpstreamParts::output);
          const auto clean_gradients = attention_backward(x.clean.problem, clean, upstream.views);
          const auto dirty_gradients = attention_backward(x.dirty.problem, dirty, upstream.views);
          support::expect_identical(clean_gradients, dirty_gradients);
          EXPECT_EQ(dirty_gradients.key.at({0, 0, 5, 1}), 0);
          EXPECT_EQ(dirty_gradients.value.at({0, 0, 5, 1}), 0);
        }
      }
    }
  }
}

// A weight that underflows to 0, or that the map sets to 0, never touches its value.
TEST(NotFinite, BehindAWeightOfZero) {
  const float q[] = {1}, k[] = {200, 0, 199, -300};
  for (double poison : {kNaN, kInfinity}) {
    const float v[] = {1, static_cast<float>(poison), 2, static_cast<float>(poison)};
    const isentropic::AttentionProblem problem{.query = View(q, {1, 1, 1, 1}),
                                               .key = View(k, {1, 1, 4, 1}),
                                               .value = View(v, {1, 1, 4, 1}),
                                               .scale = isentropic::Scale::constant(1.0)};
    for (const ScoreMap& map :
         {ScoreMap::softmax(), ScoreMap::top_k(2), ScoreMap::sparsemax(), ScoreMap::entmax(1.5)}) {
      isentropic::AttentionProblem each = problem;
      each.map = map;
      const double output = attention(each).output.at({0, 0, 0, 0});
      EXPECT_TRUE(output >= 1 && output <= 2) << map.name() << " gives " << output;
    }
  }
}

// A score of -inf means a weight of 0, not a mask: the key is seen and counted, and the rest of the row is unchanged.
TEST(NotFinite, AScoreOfMinusInfinityIsSeen) {
  for (DType type : {DType::float64, DType::float32}) {
    Numbers q = {1}, k = {-kInfinity, 0.5, -kInfinity, -1, 0.25}, v = {1, 2, 3, 4, 5};
    Instance x = build({.sizes = {.n_q = 1, .n_k = 5, .d = 1, .d_v = 1}, .type = type});
    x.problem.query = x.store(&q, {1, 1, 1, 1});
    x.problem.key = x.store(&k, {1, 1, 5, 1});
    x.problem.value = x.store(&v, {1, 1, 5, 1});
    x.oracle.query = q;
    x.oracle.key = k;
    x.oracle.value = v;
    support::groups(1, 0).apply(x);
    SCOPED_TRACE(isentropic::name(type));
    expect_forward(x, type == DType::float64 ? 1e-14 : 1e-6);
  }
}

}  // namespace
}  // namespace attention_test
