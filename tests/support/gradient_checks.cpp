// Gradients of the library against the oracle's.
#include "reference/scores.hpp"
#include "reference/weights.hpp"
#include "support/checks.hpp"

namespace support {
namespace {

using isentropic::AttentionGradients;
using isentropic::Bias;
using isentropic::Tensor;
using reference::Problem;
using reference::Upstream;

void expect_tensor(const Tensor& actual, const Numbers& expected, const Shape& shape, double tolerance,
                   const char* what) {
  ASSERT_TRUE(actual.present()) << what;
  EXPECT_EQ(actual.shape(), shape) << what;
  EXPECT_TRUE(close(actual.to_doubles(), expected, tolerance)) << "gradient of " << what;
}

Shape shape_of(const View& view) { return view.shape; }

void expect_bias_gradient(const Instance& x, const Problem& oracle, const Upstream& upstream,
                          const AttentionGradients& gradients, double tolerance) {
  const Sizes& sizes = x.sizes;
  const Shape full{sizes.batch, sizes.heads, sizes.n_q, sizes.n_k};
  switch (x.problem.bias.kind()) {
    case Bias::Kind::none:
      EXPECT_FALSE(gradients.bias.present());
      return;
    case Bias::Kind::dense: {
      // Masked entries stay masked when perturbed: -inf plus a step is -inf, and their gradient is 0.
      const Numbers all = finite_difference(oracle, upstream, [](Problem& p) -> Numbers& { return p.bias.dense; });
      const Shape& shape = x.problem.bias.values().shape;
      return expect_tensor(gradients.bias, reduced(all, full, shape), shape, tolerance, "dense bias");
    }
    case Bias::Kind::alibi: {
      const Numbers all = finite_difference(oracle, upstream, [](Problem& p) -> Numbers& { return p.bias.slopes; });
      return expect_tensor(gradients.bias, all, {sizes.heads}, tolerance, "ALiBi slopes");
    }
    case Bias::Kind::relative: {
      const Numbers all = finite_difference(oracle, upstream, [](Problem& p) -> Numbers& { return p.bias.table; });
      const Shape& shape = x.problem.bias.values().shape;
      return expect_tensor(gradients.bias, reduced(all, {sizes.heads, shape[1]}, shape), shape, tolerance,
                           "relative table");
    }
  }
}

void expect_scale_gradients(const Instance& x, const Problem& oracle, const Upstream& upstream,
                            const AttentionGradients& gradients, double tolerance) {
  const Sizes& sizes = x.sizes;
  const Problem rows = with_explicit_scale(oracle);
  const Numbers lambda = finite_difference(rows, upstream, [](Problem& p) -> Numbers& { return p.scale.rows; });
  expect_tensor(gradients.lambda, lambda, {sizes.batch, sizes.heads, sizes.n_q}, tolerance, "lambda");
  const auto learnable = static_cast<std::size_t>(x.problem.scale.learnable());
  ASSERT_EQ(gradients.scale_parameters.size(), learnable);
  for (std::size_t which = 0; which < learnable; ++which) {
    const Numbers parameter =
        finite_difference(oracle, upstream, [&](Problem& p) -> Numbers& { return p.scale.parameters[which]; });
    expect_tensor(gradients.scale_parameters[which], parameter, {sizes.heads}, tolerance, "a scale parameter");
  }
}

}  // namespace

RandomUpstream::RandomUpstream(Instance& x, UpstreamParts parts) {
  const Sizes& sizes = x.sizes;
  const Shape rows{sizes.batch, sizes.heads, sizes.n_q};
  const Shape outputs{sizes.batch, sizes.heads, sizes.n_q, sizes.d_v};
  const DType statistics_type = x.type == DType::float64 ? DType::float64 : DType::float32;
  const auto draw = [&](const Shape& shape, DType as, Numbers* numbers, View* view) {
    *numbers = x.random.normals(count(shape));
    *view = x.store(numbers, shape, as);
  };
  if (parts != UpstreamParts::statistics) draw(outputs, x.type, &oracle.output, &views.output);
  if (parts == UpstreamParts::output || !is_softmax(x.oracle.map)) return;
  draw(rows, statistics_type, &oracle.log_partition, &views.log_partition);
  draw(rows, statistics_type, &oracle.entropy, &views.entropy);
  draw(rows, statistics_type, &oracle.mean_score, &views.mean_score);
  draw(rows, statistics_type, &oracle.score_variance, &views.score_variance);
  draw(rows, statistics_type, &oracle.collision, &views.collision);
}

void expect_gradients(Instance& x, UpstreamParts parts, double tolerance) {
  x.problem.statistics = isentropic::Statistics::all();
  const RandomUpstream upstream(x, parts);
  const isentropic::AttentionResult result = attention(x.problem);
  const AttentionGradients gradients = attention_backward(x.problem, result, upstream.views);

  // The library's conventions: a target entropy's lambda is a constant unless its gradient is implicit, and a
  // straight-through sample has the output of the argmax but the gradient of the relaxed weights.
  const bool implicit =
      x.problem.scale.is_target_entropy() && x.problem.scale.gradient() == isentropic::TargetEntropyGradient::implicit;
  const bool wanted = x.oracle.scale.law == reference::Law::target_entropy;
  const Problem oracle = wanted && !implicit ? with_explicit_scale(x.oracle) : x.oracle;
  Problem relaxed = oracle;
  relaxed.map.straight_through = false;

  const Numbers query = finite_difference(relaxed, upstream.oracle, [](Problem& p) -> Numbers& { return p.query; });
  const Numbers key = finite_difference(relaxed, upstream.oracle, [](Problem& p) -> Numbers& { return p.key; });
  const Numbers value = finite_difference(oracle, upstream.oracle, [](Problem& p) -> Numbers& { return p.value; });
  expect_tensor(gradients.query, query, shape_of(x.problem.query), tolerance, "query");
  expect_tensor(gradients.key, key, shape_of(x.problem.key), tolerance, "key");
  expect_tensor(gradients.value, value, shape_of(x.problem.value), tolerance, "value");
  EXPECT_EQ(gradients.query.type(), x.type);
  if (!implicit) expect_scale_gradients(x, relaxed, upstream.oracle, gradients, tolerance);
  expect_bias_gradient(x, relaxed, upstream.oracle, gradients, tolerance);
  EXPECT_EQ(gradients.alpha.present(), x.problem.map.kind() == isentropic::ScoreMap::Kind::entmax);
  if (gradients.alpha.present()) {
    const Numbers alpha =
        finite_difference(oracle, upstream.oracle, [](Problem& p) -> Numbers& { return p.map.alpha; });
    expect_tensor(gradients.alpha, alpha, {x.sizes.heads}, tolerance, "alpha");
  }
  if (x.problem.sink) {
    const Numbers sink = finite_difference(relaxed, upstream.oracle, [](Problem& p) -> Numbers& { return p.sink; });
    expect_tensor(gradients.sink, sink, {x.sizes.heads}, tolerance, "sink");
  }
}

void expect_dense_gradients(Instance& x, double tolerance) {
  x.problem.statistics = isentropic::Statistics::all();
  const RandomUpstream upstream(x, UpstreamParts::both);
  const isentropic::AttentionResult result = attention(x.problem);
  const AttentionGradients gradients = attention_backward(x.problem, result, upstream.views);
  const reference::DenseGradients expected = dense_gradients(x.oracle, upstream.oracle);
  const Sizes& sizes = x.sizes;
  expect_tensor(gradients.query, expected.query, shape_of(x.problem.query), tolerance, "query");
  expect_tensor(gradients.key, expected.key, shape_of(x.problem.key), tolerance, "key");
  expect_tensor(gradients.value, expected.value, shape_of(x.problem.value), tolerance, "value");
  expect_tensor(gradients.lambda, expected.lambda, {sizes.batch, sizes.heads, sizes.n_q}, tolerance, "lambda");
  if (x.problem.bias.kind() == Bias::Kind::dense) {
    const Shape full{sizes.batch, sizes.heads, sizes.n_q, sizes.n_k};
    const Shape& shape = x.problem.bias.values().shape;
    expect_tensor(gradients.bias, reduced(expected.score, full, shape), shape, tolerance, "dense bias");
  }
  if (x.problem.sink) expect_tensor(gradients.sink, expected.sink, {sizes.heads}, tolerance, "sink");
}

}  // namespace support
