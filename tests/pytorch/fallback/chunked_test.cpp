// Attention composed of PyTorch's operators, a chunk of rows at a time, against the kernels: both on the CPU.
#include "pytorch/fallback/chunked.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace isentropic::pytorch {
namespace {

// Below autograd, like an operator's backward pass.
using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

struct Case {
  std::string problem;
  std::vector<at::Tensor> terms;
};

at::Tensor numbers(at::IntArrayRef shape) { return torch::randn(shape, torch::kDouble); }
at::Tensor flags(at::IntArrayRef shape) { return torch::rand(shape).gt(0.4); }

constexpr std::int64_t kBatch = 2, kHeads = 4, kKvHeads = 2, kQueries = 7, kKeys = 9;

std::vector<Case> cases() {
  const std::string all = R"("statistics": "all")";
  return {
      {"{" + all + "}", {}},
      {R"({"causal": true, )" + all + "}", {}},
      {R"({"causal": true, "align": "end", "window": [3, 0], "prefix": 2, )" + all + "}", {}},
      {R"({"window": [2, 3], "strided": [3, 1], )" + all + "}", {}},
      {R"({"exclude_self": true, "segments": 4, )" + all + "}", {}},
      {R"({"causal": true, "align": "end", )" + all + R"(, "tensors": ["key_lengths"]})", {torch::tensor({4, 0})}},
      {R"({"causal": true, )" + all + R"(, "tensors": ["query_offsets", "key_offsets"]})",
       {torch::tensor({0, 3, 7}), torch::tensor({0, 5, 9})}},
      {R"({"block": [2, 4], )" + all + R"(, "tensors": ["layout"]})", {flags({1, kHeads, 4, 3})}},
      {"{" + all + R"(, "scale": {"law": "log_n", "kappa": "tensor"}, "tensors": ["mask", "scale"]})",
       {flags({kBatch, 1, kQueries, kKeys}), numbers({kHeads}).abs()}},
      {"{" + all + R"(, "tensors": ["mask"]})", {numbers({1, kHeads, 1, kKeys})}},
      {"{" + all + R"(, "tensors": ["mask"]})", {flags({kBatch, 1, kQueries, 1})}},
      {"{" + all + R"(, "bias": "dense", "tensors": ["mask", "bias"]})",
       {numbers({1, kHeads, kQueries, 1}), numbers({1, 1, kQueries, 1})}},
      {"{" + all + R"(, "scale": {"law": "hybrid", "alpha": "tensor", "beta": 0.3}, "soft_cap": 0.9,
        "bias": "dense", "tensors": ["scale", "bias"]})",
       {numbers({1}).abs(), numbers({1, kHeads, kQueries, kKeys})}},
      {R"({"causal": true, )" + all +
           R"(, "scale": {"law": "per_row"}, "bias": "alibi", "tensors": ["scale", "bias"]})",
       {numbers({1, kHeads, kQueries}), numbers({kHeads})}},
      {"{" + all + R"(, "bias": "relative", "tensors": ["bias"]})", {numbers({kHeads, 5})}},
      {R"({"causal": true, "align": "end", )" + all + R"(, "tensors": ["sink", "key_lengths"]})",
       {numbers({kHeads}), torch::tensor({3, 9})}},
      // These use the CPU's kernels on copies.
      {R"({"map": {"name": "top_k", "keys": 3}, )" + all + "}", {}},
      {R"({"map": {"name": "entmax", "alpha": "tensor"}, "scale": {"law": "per_row"}, "tensors": ["scale", "map"]})",
       {numbers({1, kHeads, kQueries}), numbers({kHeads}).abs() + 1.1}},
      {R"({"map": {"name": "linear", "feature": "exp", "sharpen": 0.5}})", {}},
      {R"({"scale": {"law": "target_entropy", "target": 1.0}, )" + all + "}", {}},
      {R"({"dropout": 0.4, )" + all + R"(, "tensors": ["seed"]})", {torch::tensor({5})}}};
}

// Whether a non-finite number is Inf or NaN may depend on the order of summation.
void expect_close(const at::Tensor& found, const at::Tensor& wanted, const std::string& what, double tolerance) {
  ASSERT_EQ(found.sizes(), wanted.sizes()) << what;
  ASSERT_EQ(found.scalar_type(), wanted.scalar_type()) << what;
  if (wanted.numel() == 0) return;
  const auto settled = [](const at::Tensor& x) {
    return x.is_floating_point() ? x.masked_fill(x.isfinite().logical_not(), std::nan("")) : x;
  };
  EXPECT_TRUE(at::allclose(settled(found), settled(wanted), tolerance, tolerance, /*equal_nan=*/true)) << what << "\n"
                                                                                                       << found << "\n"
                                                                                                       << wanted;
}

// Modifies the inputs before the comparison.
using Spoil = std::function<void(at::Tensor& query, at::Tensor& key, at::Tensor& value)>;

void compare(const Case& x, at::ScalarType type, double tolerance, bool with_value, const Spoil& spoil = nullptr) {
  SCOPED_TRACE(x.problem);
  at::Tensor q = numbers({kBatch, kHeads, kQueries, 5}).to(type), k = numbers({kBatch, kKvHeads, kKeys, 5}).to(type),
             values = numbers({kBatch, kKvHeads, kKeys, 3}).to(type);
  if (spoil) spoil(q, k, values);
  const std::optional<at::Tensor> v = with_value ? std::optional(values) : std::nullopt;
  std::vector<at::Tensor> terms;
  for (const at::Tensor& term : x.terms)
    terms.push_back(term.is_floating_point() ? term.to(type == at::kDouble ? at::kDouble : at::kFloat) : term);
  const Forward kernels = attention_forward(x.problem, q, k, v, terms);
  const Forward chunks = chunked_forward(x.problem, q, k, v, terms);
  expect_close(std::get<0>(chunks), std::get<0>(kernels), "output", tolerance);
  expect_close(std::get<1>(chunks), std::get<1>(kernels), "statistics", tolerance);
  expect_close(std::get<2>(chunks), std::get<2>(kernels), "measures", tolerance);
  // The argmax of a row containing NaN is unspecified.
  const auto counts_of = [&](const Forward& found) { return spoil ? std::get<3>(found)[0] : std::get<3>(found); };
  expect_close(counts_of(chunks), counts_of(kernels), "counts", 0);

  const auto& [output, statistics, measures, counts, rows, row_counts, selected] = kernels;
  const auto g_output =
      with_value ? std::optional(torch::randn(output.sizes(), torch::kDouble).to(type)) : std::nullopt;
  const at::Tensor g_statistics = torch::randn_like(statistics);
  const Backward by_kernels =
      attention_backward(x.problem, q, k, v, terms, output, rows, row_counts, selected, g_output, g_statistics, true);
  const BelowAutograd below;
  const Backward by_chunks =
      chunked_backward(x.problem, q, k, v, terms, output, rows, row_counts, selected, g_output, g_statistics, true);
  expect_close(std::get<0>(by_chunks), std::get<0>(by_kernels), "query", 10 * tolerance);
  expect_close(std::get<1>(by_chunks), std::get<1>(by_kernels), "key", 10 * tolerance);
  expect_close(std::get<2>(by_chunks), std::get<2>(by_kernels), "value", 10 * tolerance);
  expect_close(std::get<3>(by_chunks), std::get<3>(by_kernels), "bias", 10 * tolerance);
  expect_close(std::get<4>(by_chunks), std::get<4>(by_kernels), "sink", 10 * tolerance);
  expect_close(std::get<5>(by_chunks), std::get<5>(by_kernels), "scale", 10 * tolerance);
  expect_close(std::get<6>(by_chunks), std::get<6>(by_kernels), "map", 10 * tolerance);
}

TEST(Chunked, EqualsTheKernels) {
  torch::manual_seed(1);
  for (const Case& x : cases()) compare(x, at::kDouble, 1e-11, true);
  for (const Case& x : cases()) compare(x, at::kFloat, 2e-5, true);
}

TEST(Chunked, StatisticsAlone) {
  torch::manual_seed(2);
  for (const Case& x : cases())
    if (x.problem.find("dropout") == std::string::npos && x.problem.find("entmax") == std::string::npos &&
        x.problem.find("linear") == std::string::npos)  // their statistics have no gradient
      compare(x, at::kDouble, 1e-11, false);
}

// NaN and Inf stay within the rows that see them, forward and backward.
TEST(Chunked, ContainsNotFiniteNumbers) {
  const std::vector<Case> masks = {
      {R"({"causal": true, "statistics": "all"})", {}},
      {R"({"causal": true, "window": [3, 0], "statistics": "all"})", {}},
      {R"({"statistics": "all", "scale": {"law": "log_n", "kappa": "tensor"}, "tensors": ["key_lengths", "scale"]})",
       {torch::tensor({4, 0}), torch::ones({kHeads}, torch::kDouble)}},
      {R"({"statistics": "all", "tensors": ["sink", "key_lengths"]})",
       {torch::zeros({kHeads}, torch::kDouble), torch::tensor({6, 7})}}};
  torch::manual_seed(4);
  for (const double poison : {std::nan(""), std::numeric_limits<double>::infinity()})
    for (const Case& x : masks) {
      compare(x, at::kDouble, 1e-11, true, [&](at::Tensor&, at::Tensor& key, at::Tensor&) {
        key.select(2, kKeys - 1).fill_(poison);  // seen by no row, or only by the last ones without a length
      });
      compare(x, at::kDouble, 1e-11, true,
              [&](at::Tensor&, at::Tensor&, at::Tensor& value) { value.select(2, kKeys - 1).fill_(poison); });
      compare(x, at::kDouble, 1e-11, true,
              [&](at::Tensor&, at::Tensor&, at::Tensor& value) { value.select(2, 5).select(2, 1).fill_(poison); });
    }
  for (const Case& x : masks) {
    compare(x, at::kDouble, 1e-11, true,
            [&](at::Tensor&, at::Tensor& key, at::Tensor&) { key.select(2, 4).fill_(std::nan("")); });
    compare(x, at::kDouble, 1e-11, true,
            [&](at::Tensor& query, at::Tensor&, at::Tensor&) { query.select(2, 2).fill_(std::nan("")); });
  }
}

// More scores than fit into a chunk.
TEST(Chunked, SeveralChunks) {
  torch::manual_seed(3);
  const std::int64_t n = 3000;
  const at::Tensor q = torch::randn({1, 4, n, 8}), k = torch::randn({1, 4, n, 8}), v = torch::randn({1, 4, n, 4});
  const std::string problem = R"({"causal": true, "statistics": ["entropy"]})";
  const Forward kernels = attention_forward(problem, q, k, v, {}), chunks = chunked_forward(problem, q, k, v, {});
  expect_close(std::get<0>(chunks), std::get<0>(kernels), "output", 1e-5);
  expect_close(std::get<1>(chunks), std::get<1>(kernels), "entropy", 1e-5);
  const auto& [output, statistics, measures, counts, rows, row_counts, selected] = kernels;
  const at::Tensor gradient = torch::randn_like(output);
  const Backward by_kernels =
      attention_backward(problem, q, k, v, {}, output, rows, row_counts, selected, gradient, std::nullopt, false);
  const BelowAutograd below;
  const Backward by_chunks =
      chunked_backward(problem, q, k, v, {}, output, rows, row_counts, selected, gradient, std::nullopt, false);
  expect_close(std::get<0>(by_chunks), std::get<0>(by_kernels), "query", 1e-4);
  expect_close(std::get<1>(by_chunks), std::get<1>(by_kernels), "key", 1e-4);
}

}  // namespace
}  // namespace isentropic::pytorch
