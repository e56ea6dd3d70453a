// The errors of the narrow types, measured against the oracle for the rounded inputs.
//
// Output, L and H: at most twice the error of the plain computation in the same precision (the whole row at once, in
// order), plus a constant; V likewise, relative to E[(s - m)^2], since V is a small difference of such moments.
#include <algorithm>
#include <cmath>

#include "base/element.hpp"
#include "sweep.hpp"

namespace attention_test {
namespace {

using isentropic::AttentionResult;
using isentropic::Statistics;
using isentropic::Tensor;
using support::Numbers;

constexpr double kEps = 0x1p-24;  // half a unit in the last place of float32

Tensor copied(const isentropic::View& view, DType type) {
  Tensor out(type, view.shape);
  for (std::int64_t k = 0; k < out.size(); ++k) {
    const double value = element(view, k);
    store(out, k, 1, &value);
  }
  return out;
}

double output_eps(DType type) {
  switch (type) {
    case DType::bfloat16:
      return 0x1p-9;
    case DType::float16:
      return 0x1p-12;
    default:
      return kEps;
  }
}

struct Plain {
  Numbers output, log_partition, entropy, variance;
};

// The orders in which a plain computation may sum a score: their spread is the noise of float32.
enum class Order { rising, falling, fused, even_and_odd };

float dot(const double* q, const double* k, std::int64_t d, Order order) {
  float sums[2] = {0, 0};  // the second for odd terms, if summed separately as paired units do
  for (std::int64_t step = 0; step < d; ++step) {
    const std::int64_t t = order == Order::falling ? d - 1 - step : step;
    const float x = static_cast<float>(q[t]), y = static_cast<float>(k[t]);
    float& sum = sums[order == Order::even_and_odd ? t % 2 : 0];
    sum = order == Order::fused ? std::fma(x, y, sum) : sum + x * y;
  }
  return sums[0] + sums[1];
}

// float32 throughout; the output is rounded to the type at the end.
Plain plain(const Instance& x, Order order) {
  const reference::Problem& p = x.oracle;
  Plain out;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      for (std::int64_t i = 0; i < p.n_q; ++i) {
        const float lambda = 1 / std::sqrt(static_cast<float>(p.d));
        std::vector<float> s(static_cast<std::size_t>(p.n_k));
        float m = -INFINITY;
        for (std::int64_t j = 0; j < p.n_k; ++j) {
          const float r = dot(&p.query_row(b, h, i)[0], &p.key_row(b, h, j)[0], p.d, order);
          s[static_cast<std::size_t>(j)] = lambda * r;
          m = std::max(m, lambda * r);
        }
        float z = 0, u = 0, w = 0;
        std::vector<float> o(static_cast<std::size_t>(p.d_v), 0);
        for (std::int64_t j = 0; j < p.n_k; ++j) {
          const float gap = s[static_cast<std::size_t>(j)] - m, e = std::exp(gap);
          z += e;
          u += gap * e;
          w += gap * gap * e;
          for (std::int64_t t = 0; t < p.d_v; ++t) {
            o[static_cast<std::size_t>(t)] += e * static_cast<float>(p.value_row(b, h, j)[t]);
          }
        }
        for (float sum : o) out.output.push_back(support::rounded(sum / z, x.type));
        out.log_partition.push_back(m + std::log(z));
        out.entropy.push_back(std::log(z) - u / z);
        out.variance.push_back(w / z - (u / z) * (u / z));
      }
    }
  }
  return out;
}

double worst(const Numbers& x, const Numbers& y) {
  double out = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    if (!std::isfinite(x[n]) || !std::isfinite(y[n])) return INFINITY;
    out = std::max(out, std::abs(x[n] - y[n]));
  }
  return out;
}

// The error of the plain computation in its worst order.
double worst_plain(const std::vector<Plain>& orders, Numbers Plain::*part, const Numbers& truth) {
  double out = 0;
  for (const Plain& plain_result : orders) out = std::max(out, worst(plain_result.*part, truth));
  return out;
}

double largest(const Numbers& x) {
  double out = 0;
  for (double value : x) out = std::max(out, std::abs(value));
  return out;
}

void expect_accurate(const Case& description, double outlier) {
  SCOPED_TRACE(testing::Message() << description.describe() << ", outlier " << outlier);
  Instance x = build(description);
  if (outlier != 1) {
    // One key in fifty is `outlier` times as long.
    const auto row = static_cast<std::size_t>(x.sizes.d);
    for (std::size_t j = 7; j < static_cast<std::size_t>(x.sizes.n_k); j += 50) {
      for (std::size_t t = 0; t < row; ++t) x.oracle.key[j * row + t] *= outlier;
    }
    x.problem.key = x.store(&x.oracle.key, x.problem.key.shape);
  }
  x.problem.statistics = Statistics::all();
  const AttentionResult result = attention(x.problem);
  const reference::Forward truth = reference::forward(x.oracle);
  const std::vector<Plain> same_precision = {plain(x, Order::rising), plain(x, Order::falling), plain(x, Order::fused),
                                             plain(x, Order::even_and_odd)};
  const double log_k = std::log(static_cast<double>(x.sizes.n_k));

  // The output is a mean of values: the division by z and the store each round the largest one in the output's type.
  EXPECT_LE(
      worst(result.output.to_doubles(), truth.output),
      2 * worst_plain(same_precision, &Plain::output, truth.output) + 2 * output_eps(x.type) * largest(x.oracle.value))
      << "output";
  // L = m + log z: one rounding of each term and one of the sum.
  const Numbers& partition = truth.statistics.at("log_partition");
  EXPECT_LE(worst(result.statistics.log_partition.to_doubles(), partition),
            2 * worst_plain(same_precision, &Plain::log_partition, partition) + 2 * kEps * (largest(partition) + log_k))
      << "log_partition";
  const Numbers& entropy = truth.statistics.at("entropy");
  EXPECT_LE(worst(result.statistics.entropy.to_doubles(), entropy),
            2 * worst_plain(same_precision, &Plain::entropy, entropy) + 8 * kEps * (1 + log_k))
      << "entropy";
  const Numbers& variance = truth.statistics.at("score_variance");
  EXPECT_LE(worst(result.statistics.score_variance.to_doubles(), variance),
            2 * worst_plain(same_precision, &Plain::variance, variance) +
                8 * kEps * largest(reference::second_moments(x.oracle)))
      << "score_variance";
}

class Accuracy : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, Accuracy, testing::Values(DType::float32, DType::bfloat16, DType::float16),
                         [](const auto& type) { return isentropic::name(type.param); });

// Score scales from 1e-3 to 1e4: the product of two vectors of this amplitude, divided by sqrt d.
TEST_P(Accuracy, OverScoreScalesAndOutliers) {
  std::uint64_t seed = 10000;
  for (double scale : {1e-3, 1e-1, 1.0, 10.0, 1e2, 1e3, 1e4}) {
    for (double outlier : {1.0, 20.0}) {
      for (const Sizes& sizes :
           {Sizes{.heads = 2, .kv_heads = 1, .n_q = 33, .n_k = 65, .d = 16, .d_v = 16},
            Sizes{.n_q = 20, .n_k = 1000, .d = 64, .d_v = 8}, Sizes{.n_q = 113, .n_k = 203, .d = 33, .d_v = 5}}) {
        expect_accurate({.sizes = sizes, .type = GetParam(), .amplitude = std::sqrt(scale), .seed = ++seed}, outlier);
      }
    }
  }
}

// With d = 1 and a query of 1 the scores are the keys, exactly: what remains is the error of the record itself.
//
// Each of the k terms of z carries one rounding of the exponential and, because s - m is rounded, one of |s - m| units:
// sum p |s - m| <= 1 + log k. The sum itself errs like sqrt(blocks) units. So |dH| <= C eps (1 + log k) and, with one
// more moment, |dV| <= C eps E[(s - m)^2] plus the rounding of the variance itself.
TEST_P(Accuracy, OfTheRecordAlone) {
  support::Random random(11000);
  for (double scale : {0.0, 1e-3, 1e-1, 1.0, 3.0, 10.0, 1e2, 1e3, 1e4}) {
    for (double outlier : {0.0, 5.0, 1e4}) {
      for (std::int64_t n : {2, 17, 100, 1000, 4000}) {
        SCOPED_TRACE(testing::Message() << "scale " << scale << ", outlier " << outlier << ", n " << n);
        Instance x = build({.sizes = {.n_q = 1, .n_k = n, .d = 1, .d_v = 1}, .type = GetParam()});
        x.oracle.query = {1};
        x.oracle.key = random.normals(static_cast<std::size_t>(n), scale);
        x.oracle.key[static_cast<std::size_t>(n / 2)] += outlier;
        x.problem.query = x.store(&x.oracle.query, {1, 1, 1, 1});
        x.problem.key = x.store(&x.oracle.key, {1, 1, n, 1});
        x.problem.statistics = Statistics::all();
        const auto rows = attention(x.problem).statistics;
        const auto truth = reference::forward(x.oracle).statistics;
        const double log_k = std::log(static_cast<double>(n));
        // Weights below the smallest normal float, e^-87, may be flushed to zero, and each one's (s - m)^2 with it.
        const double underflow = static_cast<double>(n) * 88 * 88 * 0x1p-126;
        const double partition = truth.at("log_partition")[0];
        EXPECT_EQ(rows.max_score.at({0, 0, 0}), truth.at("max_score")[0]);
        EXPECT_EQ(rows.argmax.at({0, 0, 0}), truth.at("argmax")[0]);
        EXPECT_NEAR(rows.log_partition.at({0, 0, 0}), partition, 2 * kEps * std::abs(partition) + 8 * kEps);
        EXPECT_NEAR(rows.entropy.at({0, 0, 0}), truth.at("entropy")[0], 8 * kEps * (1 + log_k));
        EXPECT_NEAR(rows.score_variance.at({0, 0, 0}), truth.at("score_variance")[0],
                    8 * kEps * reference::second_moments(x.oracle)[0] + underflow);
        EXPECT_NEAR(rows.peak.at({0, 0, 0}), truth.at("peak")[0], 8 * kEps * truth.at("peak")[0]);
        EXPECT_NEAR(rows.collision.at({0, 0, 0}), truth.at("collision")[0], 16 * kEps * truth.at("collision")[0]);
      }
    }
  }
}

// Adding a constant to all scores of a row changes no weight, so neither the output nor the gradients of values and
// scores. The scores are multiples of 2^-6 up to 2^14, exact in float32 with and without the constant.
TEST(AccuracyOfGradients, DoNotDependOnAConstantAddedToAllScores) {
  const auto run = [](double constant) {
    Instance x = build({.sizes = {.n_q = 1, .n_k = 64, .d = 1, .d_v = 3}, .type = DType::float32, .seed = 12000});
    support::constant_scale(1).apply(x);
    x.oracle.query = {1};
    for (double& k : x.oracle.key) k = std::round(k * 64) / 64 + constant;
    x.problem.query = x.store(&x.oracle.query, {1, 1, 1, 1});
    x.problem.key = x.store(&x.oracle.key, {1, 1, 64, 1});
    x.problem.statistics = Statistics::all();
    support::RandomUpstream upstream(x, support::UpstreamParts::both);
    const AttentionResult result = attention(x.problem);
    const auto gradients = attention_backward(x.problem, result, upstream.views);
    return std::vector<Numbers>{result.output.to_doubles(), result.statistics.entropy.to_doubles(),
                                gradients.value.to_doubles(), gradients.key.to_doubles()};
  };
  const std::vector<Numbers> at_zero = run(0);
  for (double constant : {100.0, -1000.0, 10000.0}) {
    const std::vector<Numbers> moved = run(constant);
    for (std::size_t part = 0; part < moved.size(); ++part) {
      // A weight is off by a few eps, a score gradient by the eps of each term of its sum.
      EXPECT_LE(worst(moved[part], at_zero[part]), 64 * kEps * (1 + largest(at_zero[part])))
          << "part " << part << " with scores near " << constant;
    }
  }
}

// Gradients in narrow types against float32 ones of the same numbers: off by less than one unit in the last place of
// the type on average. Rows, keys and widths leave remainders everywhere; grouped heads, several blocks of each.
TEST(AccuracyOfGradients, OfNarrowTypesIsThatOfTheirLastPlace) {
  for (DType type : {DType::bfloat16, DType::float16})
    for (const std::vector<Part>& parts :
         {std::vector<Part>{}, {support::causal(), support::soft_cap(20), support::sink()}}) {
      const Case narrow{.sizes = {.heads = 4, .kv_heads = 2, .n_q = 131, .n_k = 700, .d = 40, .d_v = 24},
                        .parts = parts,
                        .type = type,
                        .seed = 12100};
      Case wide = narrow;
      wide.type = DType::float32;
      Instance x = build(narrow), y = build(wide);
      for (const auto& [to, from, view] : {std::tuple{&y.oracle.query, &x.oracle.query, &y.problem.query},
                                           {&y.oracle.key, &x.oracle.key, &y.problem.key},
                                           {&y.oracle.value, &x.oracle.value, &y.problem.value}}) {
        *to = *from;
        *view = y.store(to, view->shape);
      }
      x.problem.statistics = y.problem.statistics = Statistics::all();
      support::RandomUpstream upstream(x, support::UpstreamParts::both), wide_upstream(y, support::UpstreamParts::both);
      wide_upstream.oracle = upstream.oracle;
      const Tensor output_gradient = copied(upstream.views.output, DType::float32);
      wide_upstream.views.output = output_gradient;
      const auto met = attention_backward(x.problem, attention(x.problem), upstream.views);
      const auto expected = attention_backward(y.problem, attention(y.problem), wide_upstream.views);
      for (const auto& [part, narrow_part, wide_part] : {std::tuple{"query", &met.query, &expected.query},
                                                         {"key", &met.key, &expected.key},
                                                         {"value", &met.value, &expected.value}}) {
        double error = 0, size = 0;
        const Numbers a = narrow_part->to_doubles(), b = wide_part->to_doubles();
        for (std::size_t k = 0; k < a.size(); ++k) error += (a[k] - b[k]) * (a[k] - b[k]), size += b[k] * b[k];
        EXPECT_LE(std::sqrt(error / size), 2 * output_eps(type)) << part << ", " << name(type);
      }
    }
}

}  // namespace
}  // namespace attention_test
