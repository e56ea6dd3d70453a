// The plain backward pass against the oracle's chain rule.
#include "attention/cuda/plain.hpp"
#include "cuda/plain_case.hpp"
#include "reference/forward.hpp"
#include "reference/gradients.hpp"
#include "reference/mask.hpp"

namespace isentropic::cuda {
namespace {

reference::Upstream plain_upstream(const reference::Problem& oracle, ElementType type) {
  std::mt19937 random(5);
  const Index rows = oracle.batch * oracle.heads * oracle.n_q;
  const auto numbers = [&] { return normal(rows, 1, ElementType::float32, random); };
  return {normal(rows * oracle.d_v, 1, type, random), numbers(), numbers(), numbers(), numbers(), numbers()};
}

// As defined in isentropic/attention.hpp, from the oracle's forward pass.
RowConstantArrays plain_constants(const reference::Problem& oracle, const reference::Upstream& upstream,
                                  PlainProblem& on_device) {
  const reference::Forward forward = reference::forward(oracle);
  const auto& of = forward.statistics;
  const auto rows = static_cast<std::size_t>(oracle.batch * oracle.heads * oracle.n_q);
  const auto d_v = static_cast<std::size_t>(oracle.d_v);
  Numbers m(rows, -INFINITY), log_z(rows), mean(rows), gate(rows), base(rows), a1(rows), a2(rows), a3(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    if (forward.visible[r] == 0) continue;
    double product = 0;
    for (std::size_t t = 0; t < d_v; ++t) product += upstream.output[r * d_v + t] * forward.output[r * d_v + t];
    m[r] = of.at("max_score")[r], log_z[r] = -std::log(of.at("peak")[r]), mean[r] = of.at("mean_score")[r] - m[r];
    gate[r] = oracle.sink.empty() ? 1 : 1 - of.at("sink_mass")[r];
    base[r] = gate[r] * (upstream.log_partition[r] - product) + upstream.mean_score[r] -
              upstream.score_variance[r] * of.at("score_variance")[r] -
              2 * upstream.collision[r] * of.at("collision")[r];
    a1[r] = upstream.mean_score[r] - upstream.entropy[r] + 2 * upstream.score_variance[r];
    a2[r] = upstream.score_variance[r], a3[r] = 2 * upstream.collision[r];
  }
  const auto real = [&](const Numbers& values) {
    return on_device.memory.numbers(real_type(on_device.problem.type), values);
  };
  return {real(m), real(log_z), real(mean), real(gate), real(base), real(a1), real(a2), real(a3)};
}

struct PlainGradients {
  Numbers query, key, value, lambda, slopes, bias, relative;
};

std::size_t product_of(std::initializer_list<std::int64_t> lengths) {
  std::int64_t product = 1;
  for (const std::int64_t length : lengths) product *= length;
  return static_cast<std::size_t>(product);
}

PlainGradients run_plain_backward(PlainProblem& c, const RowConstantArrays& rows, const void* output_gradient) {
  const Problem& p = c.problem;
  const ElementType real = real_type(p.type);
  const std::size_t q = product_of({p.rows(), p.d}), k = product_of({p.batch, p.kv_heads, p.n_k, p.d}),
                    v = product_of({p.batch, p.kv_heads, p.n_k, p.d_v}), n = product_of({p.rows()}),
                    heads = product_of({p.heads}), cells = product_of({p.rows(), p.n_k}),
                    entries = product_of({p.heads, 2 * p.reach + 1});
  const auto array = [&](ElementType type, std::size_t count) { return c.memory.poisoned(count * size_of(type)); };
  BackwardProblem backward = {p, rows, output_gradient, {p.heads * p.n_q * p.d_v, p.n_q * p.d_v, p.d_v}, {}, false};
  Gradients& to = backward.gradients;
  to.query = array(p.type, q), to.key = array(p.type, k), to.value = array(p.type, v);
  to.query_stride = {p.heads * p.n_q * p.d, p.n_q * p.d, p.d};
  to.key_stride = {p.kv_heads * p.n_k * p.d, p.n_k * p.d, p.d};
  to.value_stride = {p.kv_heads * p.n_k * p.d_v, p.n_k * p.d_v, p.d_v};
  to.lambda = array(real, n), to.bias = array(real, cells);
  if (p.slopes) to.slopes = array(real, heads);
  if (p.relative) to.relative = array(real, entries);
  backward.workspace = c.memory.poisoned(plain_backward_workspace(backward));
  require(plain_backward(backward, nullptr));
  require(cudaDeviceSynchronize());
  PlainGradients found = {read_numbers(p.type, to.query, q),
                          read_numbers(p.type, to.key, k),
                          read_numbers(p.type, to.value, v),
                          read_numbers(real, to.lambda, n),
                          {},
                          read_numbers(real, to.bias, cells),
                          {}};
  if (p.slopes) found.slopes = read_numbers(real, to.slopes, heads);
  if (p.relative) found.relative = read_numbers(real, to.relative, entries);
  return found;
}

// Sums the score gradients (after cap and bias) by lag.
Numbers sum_by_lag(const reference::Problem& oracle, const Numbers& score, std::size_t size,
                   const std::function<void(Numbers&, Index, Index, double)>& add) {
  Numbers out(size, 0.0);
  for (Index b = 0; b < oracle.batch; ++b)
    for (Index h = 0; h < oracle.heads; ++h)
      for (Index i = 0; i < oracle.n_q; ++i)
        for (Index j = 0; j < oracle.n_k; ++j)
          if (reference::visible(oracle, b, h, i, j))
            add(out, h, reference::distance(oracle, b, i, j), score[static_cast<std::size_t>(oracle.cell(b, h, i, j))]);
  return out;
}

// The errors of weights, their gradients and row constants add up.
double plain_gradient_tolerance(const reference::Problem& oracle, ElementType type) {
  return 4 * tolerance(oracle, type) + oracle_error(oracle);
}

void expect_plain_gradients(const reference::Problem& oracle, const reference::DenseGradients& expected,
                            const PlainGradients& found, double bound) {
  EXPECT_LT(relative_error(found.query, expected.query), bound);
  EXPECT_LT(relative_error(found.key, expected.key), bound);
  EXPECT_LT(relative_error(found.value, expected.value), bound);
  EXPECT_LT(relative_error(found.lambda, expected.lambda), bound);
  EXPECT_LT(relative_error(found.bias, expected.score), bound);
  if (!found.slopes.empty()) {
    const Numbers slopes =
        sum_by_lag(oracle, expected.score, found.slopes.size(), [](Numbers& out, Index h, Index lag, double g) {
          out[static_cast<std::size_t>(h)] -= g * std::abs(static_cast<double>(lag));
        });
    EXPECT_LT(relative_error(found.slopes, slopes), bound);
  }
  if (!found.relative.empty()) {
    const Index reach = oracle.bias.reach;
    const Numbers table =
        sum_by_lag(oracle, expected.score, found.relative.size(), [&](Numbers& out, Index h, Index lag, double g) {
          out[static_cast<std::size_t>(h * (2 * reach + 1) + std::clamp(lag, -reach, reach) + reach)] += g;
        });
    EXPECT_LT(relative_error(found.relative, table), bound);
  }
}

std::vector<Case> plain_gradient_cases() {
  std::vector<Case> cases = span_cases();
  for (const Case& c : plain_cases()) cases.push_back(c);
  return cases;
}

class CudaPlainGradients : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }
};

TEST_P(CudaPlainGradients, AgreeWithTheOracle) {
  for (const ElementType type : {ElementType::float32, ElementType::float64}) {
    SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)));
    PlainProblem c(GetParam(), type);
    const reference::Upstream upstream = plain_upstream(c.oracle, type);
    const reference::DenseGradients expected = reference::dense_gradients(c.oracle, upstream);
    const PlainGradients found =
        run_plain_backward(c, plain_constants(c.oracle, upstream, c), c.memory.numbers(type, upstream.output));
    expect_plain_gradients(c.oracle, expected, found, plain_gradient_tolerance(c.oracle, type));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaPlainGradients, testing::ValuesIn(plain_gradient_cases()), case_name);

class CudaPlainBackward : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }
};

const Case kPlainCausal = {
    "causal", {.heads = 4, .kv_heads = 2, .n_q = 90, .n_k = 100, .d = 24}, [](auto& oracle, auto& device) {
      oracle.mask.causal = true, device.problem.visible.right = 0;
    }};

// A relative rounding error of 2^-9, and as much again for cancellation.
TEST_F(CudaPlainBackward, TakesSixteenBits) {
  PlainProblem c(kPlainCausal, ElementType::bfloat16);
  const reference::Upstream upstream = plain_upstream(c.oracle, ElementType::bfloat16);
  const PlainGradients found = run_plain_backward(c, plain_constants(c.oracle, upstream, c),
                                                  c.memory.numbers(ElementType::bfloat16, upstream.output));
  expect_plain_gradients(c.oracle, reference::dense_gradients(c.oracle, upstream), found, 0x1p-8);
}

// Gradients of the statistics only, without an upstream output gradient.
TEST_F(CudaPlainBackward, TakesStatisticsAlone) {
  PlainProblem c(kPlainCausal, ElementType::float64);
  reference::Upstream upstream = plain_upstream(c.oracle, ElementType::float64);
  std::fill(upstream.output.begin(), upstream.output.end(), 0.0);
  const PlainGradients found = run_plain_backward(c, plain_constants(c.oracle, upstream, c), nullptr);
  EXPECT_EQ(found.value, Numbers(found.value.size(), 0.0));
  expect_plain_gradients(c.oracle, reference::dense_gradients(c.oracle, upstream), found,
                         plain_gradient_tolerance(c.oracle, ElementType::float64));
}

TEST_F(CudaPlainBackward, RepeatsBitForBit) {
  PlainProblem c(kPlainCausal, ElementType::float32);
  const reference::Upstream upstream = plain_upstream(c.oracle, ElementType::float32);
  const RowConstantArrays rows = plain_constants(c.oracle, upstream, c);
  const void* output_gradient = c.memory.numbers(ElementType::float32, upstream.output);
  const PlainGradients first = run_plain_backward(c, rows, output_gradient),
                       second = run_plain_backward(c, rows, output_gradient);
  EXPECT_EQ(first.query, second.query);
  EXPECT_EQ(first.key, second.key);
  EXPECT_EQ(first.value, second.value);
  EXPECT_EQ(first.lambda, second.lambda);
}

// NaN and infinity must have no effect in keys and values that no row sees, or in a query without upstream gradient.
TEST_F(CudaPlainBackward, ContainsNan) {
  PlainProblem c(kPlainCausal, ElementType::float32);
  reference::Upstream upstream = plain_upstream(c.oracle, ElementType::float32);
  const double bound = plain_gradient_tolerance(c.oracle, ElementType::float32);
  const std::size_t silent = 90 + 7;  // row 7 of head 1
  for (std::size_t t = 0; t < 24; ++t) upstream.output[silent * 24 + t] = 0;
  for (Numbers* numbers : {&upstream.log_partition, &upstream.entropy, &upstream.mean_score, &upstream.score_variance,
                           &upstream.collision})
    (*numbers)[silent] = 0;
  const reference::DenseGradients expected = reference::dense_gradients(c.oracle, upstream);
  const RowConstantArrays rows = plain_constants(c.oracle, upstream, c);
  for (std::size_t t = 0; t < 24; ++t) {
    c.oracle.query[silent * 24 + t] = NAN;
    for (std::size_t h = 0; h < 2; ++h)
      for (std::size_t j = 90; j < 100; ++j)
        c.oracle.key[(h * 100 + j) * 24 + t] = c.oracle.value[(h * 100 + j) * 24 + t] = t % 2 ? NAN : INFINITY;
  }
  c.problem.query = c.memory.numbers(ElementType::float32, c.oracle.query);
  c.problem.key = c.memory.numbers(ElementType::float32, c.oracle.key);
  c.problem.value = c.memory.numbers(ElementType::float32, c.oracle.value);
  const PlainGradients found = run_plain_backward(c, rows, c.memory.numbers(ElementType::float32, upstream.output));
  EXPECT_LT(relative_error(found.query, expected.query), bound);
  EXPECT_LT(relative_error(found.key, expected.key), bound);
  EXPECT_LT(relative_error(found.value, expected.value), bound);
  EXPECT_LT(relative_error(found.bias, expected.score), bound);
}

TEST_F(CudaPlainBackward, TakesNoKeysAndNoRows) {
  for (const Sizes& sizes : {Sizes{.n_q = 70, .n_k = 0, .d = 8}, Sizes{.n_q = 0, .n_k = 70, .d = 8}}) {
    PlainProblem c({"", sizes}, ElementType::float32);
    const auto rows = static_cast<std::size_t>(c.problem.rows());
    const auto real = [&](double value) { return c.memory.numbers(ElementType::float32, Numbers(rows, value)); };
    const RowConstantArrays constants = {real(-INFINITY), real(0), real(0), real(1),
                                         real(1),         real(1), real(1), real(1)};
    const PlainGradients found =
        run_plain_backward(c, constants, c.memory.numbers(ElementType::float32, Numbers(rows * 8, 1.0)));
    EXPECT_EQ(found.query, Numbers(found.query.size(), 0.0));
    EXPECT_EQ(found.key, Numbers(found.key.size(), 0.0));
    EXPECT_EQ(found.value, Numbers(found.value.size(), 0.0));
  }
}

}  // namespace
}  // namespace isentropic::cuda
