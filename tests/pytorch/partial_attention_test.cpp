// Keys split across several places, with PyTorch's tensors: parts and shares against a single call.
#include "isentropic/pytorch/partial_attention.hpp"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

namespace isentropic::pytorch {
namespace {

struct Inputs {
  at::Tensor query, key, value, sink;
};

Inputs draw(at::ScalarType type) {
  at::manual_seed(1);
  const auto random = [&](at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble).to(type); };
  return {random({2, 4, 20, 8}), random({2, 2, 20, 8}), random({2, 2, 20, 6}), random({4}).to(at::kDouble)};
}

AttentionOptions options_of(const Inputs& x) {
  return {
      .mask = Mask::causal().window(13), .scale = Scale::log_n(2.0), .sink = x.sink, .statistics = Statistics::all()};
}

// The keys [begin, end) and their options.
struct Place {
  at::Tensor key, value;
  AttentionOptions options;

  Place(const Inputs& x, std::int64_t begin, std::int64_t end)
      : key(x.key.slice(2, begin, end)), value(x.value.slice(2, begin, end)), options(options_of(x)) {
    options.shard = {.key_runs = {{begin, end - begin}}, .total_queries = 20, .total_keys = 20};
  }
};

void expect_close(const at::Tensor& x, const at::Tensor& y, double tolerance) {
  EXPECT_TRUE(at::allclose(x.to(at::kDouble), y.to(at::kDouble), 0, tolerance, /*equal_nan=*/true))
      << (x.to(at::kDouble) - y.to(at::kDouble)).abs().max().item<double>();
}

TEST(PartialAttention, PartsMakeTheWhole) {
  const Inputs x = draw(at::kDouble);
  const AttentionOutput whole = attention(x.query, x.key, x.value, options_of(x));
  const Place first(x, 0, 7), second(x, 7, 8), third(x, 8, 20);
  const auto part = [&](const Place& place) {
    return attention_partial(x.query, place.key, place.value, place.options);
  };
  const PartialAttention merged = merge(part(third), merge(part(first), part(second)));
  const AttentionOutput found = finish(x.query, first.key, first.value, first.options, merged);
  expect_close(found.output, whole.output, 1e-12);
  for (const auto& [name, expected] : whole.statistics) {
    SCOPED_TRACE(name);
    expect_close(found.statistics.at(name), expected, 1e-12);
  }
}

TEST(PartialAttention, SharesAddUp) {
  const Inputs x = draw(at::kDouble);
  for (const at::Tensor& leaf : {x.query, x.key, x.value, x.sink}) leaf.set_requires_grad(true);
  const AttentionOutput whole = attention(x.query, x.key, x.value, options_of(x));
  const at::Tensor gradient = at::randn_like(whole.output);
  const auto expected = torch::autograd::grad({whole.output}, {x.query, x.key, x.value, x.sink}, {gradient});
  at::Tensor query = at::zeros_like(x.query);
  std::vector<at::Tensor> keys, values;
  for (const auto& [begin, end] : {std::pair(0, 9), std::pair(9, 20)}) {
    const Place place(x, begin, end);
    const GradientShares shares = attention_backward(x.query, place.key, place.value, place.options, whole, gradient);
    query += shares.query;
    keys.push_back(shares.key), values.push_back(shares.value);
    expect_close(shares.sink, expected[3], 1e-12);  // per row, so complete in every place
  }
  expect_close(query, expected[0], 1e-12);
  expect_close(at::cat(keys, 2), expected[1], 1e-12);
  expect_close(at::cat(values, 2), expected[2], 1e-12);
}

// Rounding to 16 bits before the sum would lose what the sum keeps.
TEST(PartialAttention, SharesAreInTheTypeOfSums) {
  const Inputs x = draw(at::kBFloat16);
  const Place place(x, 0, 20);
  const AttentionOutput whole = attention(x.query, x.key, x.value, options_of(x));
  const GradientShares shares =
      attention_backward(x.query, place.key, place.value, place.options, whole, at::ones_like(whole.output));
  for (const at::Tensor& share : {shares.query, shares.key, shares.value}) EXPECT_EQ(share.scalar_type(), at::kFloat);
  EXPECT_EQ(attention_partial(x.query, place.key, place.value, place.options).output.scalar_type(), at::kFloat);
}

TEST(PartialAttention, PartsOfOtherRowsAreRefused) {
  const Inputs x = draw(at::kDouble);
  const Place place(x, 0, 20);
  const PartialAttention part = attention_partial(x.query, place.key, place.value, place.options);
  const PartialAttention fewer =
      attention_partial(x.query.slice(2, 0, 5), place.key, place.value,
                        {.shard = {.query_runs = {{0, 5}}, .total_queries = 20, .total_keys = 20}});
  EXPECT_THROW(merge(part, fewer), c10::ValueError);
}

}  // namespace
}  // namespace isentropic::pytorch
