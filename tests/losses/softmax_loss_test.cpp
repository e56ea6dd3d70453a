// The streaming loss against the full matrix, in several blocks of queries and keys.
#include "isentropic/softmax_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "isentropic/error.hpp"
#include "support/random.hpp"

namespace isentropic {
namespace {

using Numbers = std::vector<double>;

struct Setting {
  std::int64_t rows, keys, d;
  double scale = 1;
  bool biased = false;
  std::optional<double> soft_cap = {};
  bool exclude_self = false;
};

// Inputs, random upstream gradients, and results computed from the full matrix in float64.
struct Written {
  explicit Written(const Setting& setting, std::uint64_t seed = 1) : s(setting) {
    const double spread = 1 / std::sqrt(std::sqrt(static_cast<double>(s.d)));
    support::Random random(seed);
    q = random.normals(s.rows * s.d, spread), k = random.normals(s.keys * s.d, spread);
    bias = random.normals(s.biased ? s.keys : 0);
    g_l = random.normals(s.rows), g_h = random.normals(s.rows), g_loss = random.normals(s.rows);
    for (std::int64_t i = 0; i < s.rows; ++i) target.push_back(i % 5 == 3 ? -1 : random.integer(0, s.keys - 1));
    compute();
  }

  void compute() {
    L.assign(s.rows, 0), H.assign(s.rows, 0), loss.assign(s.rows, 0);
    d_q.assign(q.size(), 0), d_k.assign(k.size(), 0), d_bias.assign(bias.size(), 0);
    for (std::int64_t i = 0; i < s.rows; ++i) {
      Numbers raw(s.keys), score(s.keys), slope(s.keys, 1);
      for (std::int64_t j = 0; j < s.keys; ++j) {
        for (std::int64_t c = 0; c < s.d; ++c) raw[j] += q[i * s.d + c] * k[j * s.d + c];
        score[j] = s.scale * raw[j];
        if (s.soft_cap) slope[j] = 1 - std::pow(std::tanh(score[j] / *s.soft_cap), 2);
        if (s.soft_cap) score[j] = *s.soft_cap * std::tanh(score[j] / *s.soft_cap);
        if (s.biased) score[j] += bias[j];
      }
      const auto seen = [&](std::int64_t j) { return !(s.exclude_self && i == j); };
      double z = 0;
      for (std::int64_t j = 0; j < s.keys; ++j) z += seen(j) ? std::exp(score[j]) : 0;
      L[i] = std::log(z);
      for (std::int64_t j = 0; j < s.keys; ++j)
        if (seen(j)) H[i] -= std::exp(score[j] - L[i]) * (score[j] - L[i]);
      if (target[i] >= 0) loss[i] = L[i] - score[target[i]];
      for (std::int64_t j = 0; j < s.keys; ++j) {
        const double p = seen(j) ? std::exp(score[j] - L[i]) : 0;
        // dH/ds_j = -p_j (log p_j + H)
        const double g_all = g_l[i] + (target[i] >= 0 ? g_loss[i] : 0);
        double g = p == 0 ? 0 : p * g_all - g_h[i] * p * (score[j] - L[i] + H[i]);
        if (j == target[i]) g -= g_loss[i];
        if (s.biased) d_bias[j] += g;
        g *= slope[j];
        d_scale += g * raw[j];
        for (std::int64_t c = 0; c < s.d; ++c) {
          d_q[i * s.d + c] += g * s.scale * k[j * s.d + c];
          d_k[j * s.d + c] += g * s.scale * q[i * s.d + c];
        }
      }
    }
  }

  Setting s;
  Numbers q, k, bias, g_l, g_h, g_loss;
  std::vector<std::int64_t> target;
  Numbers L, H, loss, d_q, d_k, d_bias;
  double d_scale = 0;
};

template <class T>
void expect_equal(const Written& x, double tolerance) {
  const std::vector<T> q(x.q.begin(), x.q.end()), k(x.k.begin(), x.k.end()), bias(x.bias.begin(), x.bias.end());
  SoftmaxLossProblem problem{.query = View(q.data(), {x.s.rows, x.s.d}),
                             .key = View(k.data(), {x.s.keys, x.s.d}),
                             .target = View(x.target.data(), {x.s.rows}),
                             .scale = x.s.scale,
                             .soft_cap = x.s.soft_cap,
                             .exclude_self = x.s.exclude_self};
  if (x.s.biased) problem.bias = View(bias.data(), {x.s.keys});
  const SoftmaxLossResult result = softmax_loss(problem);
  const SoftmaxLossGradients gradients = softmax_loss_backward(problem, result,
                                                               {.loss = View(x.g_loss.data(), {x.s.rows}),
                                                                .log_partition = View(x.g_l.data(), {x.s.rows}),
                                                                .entropy = View(x.g_h.data(), {x.s.rows})});
  for (std::int64_t i = 0; i < x.s.rows; ++i) {
    ASSERT_NEAR(log_partition(result.records[i]), x.L[i], tolerance) << i;
    ASSERT_NEAR(entropy(result.records[i]), x.H[i], tolerance) << i;
    ASSERT_NEAR(result.loss[i], x.loss[i], tolerance) << i;
  }
  const auto expect_numbers = [&](const Tensor& found, const Numbers& wanted) {
    const Numbers numbers = found.to_doubles();
    ASSERT_EQ(numbers.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(numbers[i], wanted[i], 10 * tolerance) << i;
  };
  expect_numbers(gradients.query, x.d_q);
  expect_numbers(gradients.key, x.d_k);
  if (x.s.biased) expect_numbers(gradients.bias, x.d_bias);
  EXPECT_NEAR(gradients.scale, x.d_scale, 100 * tolerance);
}

TEST(SoftmaxLoss, ByHand) {
  const double q[] = {1, 0}, k[] = {1, 0, 0, 1};
  const std::int64_t target[] = {0};
  const SoftmaxLossResult result =
      softmax_loss({.query = View(q, {1, 2}), .key = View(k, {2, 2}), .target = View(target, {1})});
  EXPECT_NEAR(result.loss[0], std::log(std::exp(1) + 1) - 1, 1e-15);
}

TEST(SoftmaxLoss, EqualsTheMatrixWrittenOut) {
  for (const Setting& s : {Setting{7, 11, 3}, Setting{7, 11, 3, 2.5, true}, Setting{7, 11, 3, 2.5, false, 1.5},
                           Setting{9, 9, 4, 3, false, {}, true}, Setting{9, 9, 4, 3, true, 2.0, true}}) {
    expect_equal<double>(Written(s), 1e-12);
    expect_equal<float>(Written(s), 1e-5);
  }
}

// At d = 1100 a block holds 512 keys or 384 queries.
TEST(SoftmaxLoss, ManyBlocks) {
  expect_equal<float>(Written({520, 520, 1100, 1, true, {}, true}), 1e-4);
  expect_equal<double>(Written({515, 1030, 1100, 2}), 1e-10);
}

// A row near-certain of its target: the loss is far below the rounding of its scores, yet keeps its digits.
TEST(SoftmaxLoss, SureRows) {
  const float q[] = {1000}, k[] = {1, 0.988f};
  const std::int64_t target[] = {0};
  const SoftmaxLossProblem problem{.query = View(q, {1, 1}), .key = View(k, {2, 1}), .target = View(target, {1})};
  const SoftmaxLossResult result = softmax_loss(problem);
  // The scores 1000 and 988 are rounded to 2^-14 = 6e-5, which is the relative error of the loss.
  const double gap = 1000 - 1000 * static_cast<double>(k[1]), loss = std::log1p(std::exp(-gap));
  EXPECT_NEAR(result.loss[0] / loss, 1, 1e-4);
  const double one[] = {1};
  const SoftmaxLossGradients gradients = softmax_loss_backward(problem, result, {.loss = View(one, {1})});
  const Numbers d_k = gradients.key.to_doubles();
  EXPECT_NEAR(d_k[0] / (-1000 * loss), 1, 1e-4);
  EXPECT_NEAR(d_k[1] / (1000 * loss), 1, 1e-4);
  EXPECT_NEAR(gradients.query.to_doubles()[0] / (loss * (static_cast<double>(k[1]) - 1)), 1, 1e-4);
  EXPECT_NEAR(gradients.scale / (-gap * loss), 1, 1e-4);
}

// Hence the bound log N - loss never exceeds log N.
TEST(SoftmaxLoss, IsNeverNegative) {
  support::Random random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t n = random.integer(1, 5), d = 16;
    Numbers numbers = random.normals(n * d);
    std::vector<std::int64_t> target(n);
    for (std::int64_t i = 0; i < n; ++i) {
      target[i] = i;
      double norm = 0;
      for (std::int64_t c = 0; c < d; ++c) norm += std::pow(numbers[i * d + c], 2);
      for (std::int64_t c = 0; c < d; ++c) numbers[i * d + c] /= std::sqrt(norm);
    }
    const std::vector<float> x(numbers.begin(), numbers.end());
    const SoftmaxLossResult result = softmax_loss({.query = View(x.data(), {n, d}),
                                                   .key = View(x.data(), {n, d}),
                                                   .target = View(target.data(), {n}),
                                                   .scale = 50});
    for (double loss : result.loss) ASSERT_GE(loss, 0);
    if (n == 1) {
      ASSERT_EQ(result.loss[0], 0);
    }
  }
}

// A row without upstream gradient contributes to no gradient, whatever it contains.
TEST(SoftmaxLoss, IgnoredRowsPoisonNothing) {
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e38f}) {
    for (const bool has_target : {false, true}) {
      const float q[] = {1, 2, poison, poison}, k[] = {1, 0, 0, 1, 1, 1}, bias[] = {0.5f, 0, 0};
      const std::int64_t target[] = {0, has_target ? 1 : -1};
      const double up[] = {1, 0};
      const auto gradients_of = [&](std::int64_t rows) {
        const SoftmaxLossProblem problem{.query = View(q, {rows, 2}),
                                         .key = View(k, {3, 2}),
                                         .target = View(target, {rows}),
                                         .bias = View(bias, {3})};
        return softmax_loss_backward(
            problem, softmax_loss(problem),
            {.loss = View(up, {rows}), .log_partition = View(up, {rows}), .entropy = View(up, {rows})});
      };
      const SoftmaxLossGradients alone = gradients_of(1), both = gradients_of(2);
      EXPECT_EQ(both.key.to_doubles(), alone.key.to_doubles());
      EXPECT_EQ(both.bias.to_doubles(), alone.bias.to_doubles());
      EXPECT_EQ(both.scale, alone.scale);
      const Numbers d_q = both.query.to_doubles();
      EXPECT_EQ(d_q[2], 0);
      EXPECT_EQ(d_q[3], 0);
    }
  }
}

// A target masked by the bias: the loss is infinite, not NaN, and the record covers the keys that are seen.
TEST(SoftmaxLoss, MaskedTarget) {
  const float q[] = {1}, k[] = {1, 2}, bias[] = {-std::numeric_limits<float>::infinity(), 0};
  const std::int64_t target[] = {0};
  const SoftmaxLossResult result = softmax_loss(
      {.query = View(q, {1, 1}), .key = View(k, {2, 1}), .target = View(target, {1}), .bias = View(bias, {2})});
  EXPECT_EQ(result.loss[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(log_partition(result.records[0]), 2);
  EXPECT_EQ(result.records[0].k, 1);
}

TEST(SoftmaxLoss, EmptyProblems) {
  const float q[] = {1, 2}, nothing[1] = {};
  const std::int64_t target[] = {-1};
  const SoftmaxLossProblem no_keys{.query = View(q, {1, 2}), .key = View(nothing, {0, 2}), .target = View(target, {1})};
  const SoftmaxLossResult empty = softmax_loss(no_keys);
  EXPECT_EQ(log_partition(empty.records[0]), -std::numeric_limits<double>::infinity());
  const float g[] = {1};
  const SoftmaxLossGradients gradients = softmax_loss_backward(no_keys, empty, {.log_partition = View(g, {1})});
  EXPECT_EQ(gradients.query.to_doubles(), (Numbers{0, 0}));
  const SoftmaxLossProblem no_rows{.query = View(nothing, {0, 2}), .key = View(q, {1, 2}), .target = View(target, {0})};
  EXPECT_TRUE(softmax_loss(no_rows).records.empty());
}

void expect_refused(const SoftmaxLossProblem& problem, const std::string& word) {
  try {
    softmax_loss(problem);
    ADD_FAILURE() << "not refused: " << word;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(SoftmaxLoss, BadInput) {
  const float x[12] = {};
  const double y[12] = {};
  const std::int64_t target[] = {0, 1}, high[] = {0, 3}, low[] = {-2, 0};
  const View q(x, {2, 3}), k(x, {3, 3});
  const auto with = [&](View key, View targets) {
    return SoftmaxLossProblem{.query = q, .key = std::move(key), .target = std::move(targets)};
  };
  expect_refused(with(View(x, {3, 4}), View(target, {2})), "key d is 4; expected 3");
  expect_refused(with(View(y, {3, 3}), View(target, {2})), "key type is float64");
  expect_refused(with(k, View(high, {2})), "target is 3");
  expect_refused(with(k, View(low, {2})), "target is -2");
  expect_refused(with(k, View(target, {1})), "target is [1]");
  SoftmaxLossProblem self = with(k, View(target, {2}));
  self.exclude_self = true;
  expect_refused(self, "key count is 3; expected 2");
  SoftmaxLossProblem biased = with(k, View(target, {2}));
  biased.bias = View(x, {2});
  expect_refused(biased, "bias is [2]");
}

}  // namespace
}  // namespace isentropic
