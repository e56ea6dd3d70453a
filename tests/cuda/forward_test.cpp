// The forward pass on tensor cores against the oracle: output and records.
#include "attention/cuda/forward.hpp"

#include "attention/cuda/plain.hpp"
#include "cuda/finished_rows.hpp"
#include "cuda/plain_case.hpp"
#include "reference/forward.hpp"

namespace isentropic::cuda {
namespace {

class CudaForward : public testing::TestWithParam<Case> {};

FinishedRows run(const Problem& problem, DeviceMemory& memory) {
  const ForwardOutput out = forward_output(problem, memory);
  require(forward(problem, out, nullptr));
  FinishedRows found = read_rows(problem, out);
  if (problem.tests.any() || problem.bias.data) found.k = read_list<std::int64_t>(out.rows.k, found.m.size());
  return found;
}

struct Widths {
  Index d, d_v;
};

void expect_agreement(Case c, const std::vector<Widths>& widths, const std::vector<MomentSet>& all_moments) {
  for (const ElementType type : {ElementType::bfloat16, ElementType::float16})
    for (const auto& [d, d_v] : widths) {
      c.sizes.d = d, c.sizes.d_v = d_v;
      reference::Problem oracle = oracle_of(c, type);
      DeviceMemory memory;
      DeviceProblem device{memory, on_device(oracle, type, memory)};
      c.change(oracle, device);
      ASSERT_TRUE(has_forward(device.problem));
      const reference::Forward expected = reference::forward(oracle);
      for (const MomentSet moments : all_moments) {
        SCOPED_TRACE(c.name + ", d = " + std::to_string(d) + ", d_v = " + std::to_string(d_v) + ", moments " +
                     std::to_string(static_cast<int>(moments)) + ", type " + std::to_string(static_cast<int>(type)));
        device.problem.moments = moments;
        const FinishedRows found = run(device.problem, memory);
        EXPECT_LT(relative_error(found.output, expected.output), type == ElementType::bfloat16 ? 4e-3 : 6e-4);
        expect_records(expected, found, moments);
      }
    }
}

TEST_P(CudaForward, AgreesWithTheOracle) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  expect_agreement(GetParam(), {{64, 64}, {128, 128}}, {MomentSet::partition, MomentSet::entropy, MomentSet::all});
}

TEST_P(CudaForward, WideHeads) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  expect_agreement(GetParam(), {{192, 128}, {256, 256}, {136, 72}, {200, 160}, {40, 24}},
                   {MomentSet::entropy, MomentSet::all});
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaForward, testing::ValuesIn(span_cases()), case_name);

// The unrounded output, once rounded, equals the usual one.
TEST(CudaForward, OutputInTheTypeOfSums) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  Case c = span_cases().front();
  for (const auto& [d, d_v] : {Widths{64, 64}, Widths{128, 128}, Widths{192, 128}}) {
    c.sizes.d = d, c.sizes.d_v = d_v;
    for (const auto launch : {&forward, &plain_forward}) {
      DeviceMemory memory;
      const Problem problem = on_device(oracle_of(c, ElementType::bfloat16), ElementType::bfloat16, memory);
      const auto numbers = static_cast<std::size_t>(problem.rows() * problem.d_v);
      ForwardOutput out = forward_output(problem, memory);
      require(launch(problem, out, nullptr));
      require(cudaDeviceSynchronize());
      const Numbers rounded = read_numbers(ElementType::bfloat16, out.output, numbers);
      out.output = memory.poisoned(numbers * sizeof(float)), out.real_output = true;
      require(launch(problem, out, nullptr));
      require(cudaDeviceSynchronize());
      const Numbers real = read_numbers(ElementType::float32, out.output, numbers);
      std::size_t finer = 0;
      for (std::size_t i = 0; i < numbers; ++i) {
        ASSERT_NEAR(real[i], rounded[i], std::abs(real[i]) * 0x1p-8);
        finer += real[i] != rounded[i] ? 1 : 0;
      }
      EXPECT_GT(finer, numbers / 2);
    }
  }
}

class CudaForwardDense : public testing::TestWithParam<Case> {};

TEST_P(CudaForwardDense, AgreesWithTheOracle) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  expect_agreement(GetParam(), {{64, 64}, {128, 128}, {192, 128}, {256, 256}}, {MomentSet::all});
}

// Hidden or dropped values are never read: a NaN among them shows only in rows that see it.
TEST_P(CudaForwardDense, NanStaysHidden) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  Case with_nan = GetParam();
  with_nan.change = [&](reference::Problem& oracle, DeviceProblem& device) {
    GetParam().change(oracle, device);
    oracle.value[static_cast<std::size_t>(10 * oracle.d_v + 5)] = NAN;
    oracle.value[static_cast<std::size_t>(40 * oracle.d_v + 7)] = INFINITY;
    oracle.value[static_cast<std::size_t>(70 * oracle.d_v + 9)] = -INFINITY;
    device.problem.value = device.memory.numbers(device.problem.type, oracle.value);
  };
  expect_agreement(with_nan, {{64, 64}, {128, 128}}, {MomentSet::all});
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaForwardDense, testing::ValuesIn(dense_cases()), case_name);

// The padding mask hides key 70, which is NaN.
TEST(CudaForward, HiddenKeysMayBeNaN) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  Case c = dense_case("padding mask");
  const auto change = c.change;
  c.change = [&](reference::Problem& oracle, DeviceProblem& device) {
    change(oracle, device);
    Numbers keys = oracle.key;
    for (Index column = 0; column < oracle.d; ++column) keys[static_cast<std::size_t>(70 * oracle.d + column)] = NAN;
    device.problem.key = device.memory.numbers(device.problem.type, keys);
  };
  expect_agreement(c, {{64, 64}, {128, 128}, {256, 256}}, {MomentSet::all});
}

// Far below the threshold that hides keys in another type, yet not the lowest value of any type: such keys are seen.
TEST(CudaForward, VeryNegativeTermsDoNotHide) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  reference::Problem oracle = oracle_of({"", {.heads = 1, .kv_heads = 1, .n_q = 3, .n_k = 100}}, ElementType::bfloat16);
  DeviceMemory memory;
  Problem problem = on_device(oracle, ElementType::bfloat16, memory);
  Numbers terms(300, -1e38);  // row 0; row 1 has one other key, row 2 sees none
  terms[100 + 37] = 0;
  std::fill(terms.begin() + 200, terms.end(), -INFINITY);
  problem.tests.mask = {memory.numbers(ElementType::float32, terms), ElementType::float32, {0, 0, 100, 1}};
  problem.moments = MomentSet::all;
  const FinishedRows found = run(problem, memory);
  EXPECT_EQ(found.k, (std::vector<std::int64_t>{100, 100, 0}));
  EXPECT_NEAR(found.z[0], 100, 1e-3);
  EXPECT_EQ(found.z[1], 1);
  EXPECT_EQ(found.z[2], 0);
}

// Infinite and NaN values that a row does not see leave no trace in it; those it sees propagate unchanged.
TEST(CudaForward, ValuesThatAreNotFinite) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type : {ElementType::bfloat16, ElementType::float16})
    for (const Index d : {64, 128, 256}) {
      SCOPED_TRACE("d = " + std::to_string(d) + ", type " + std::to_string(static_cast<int>(type)));
      reference::Problem oracle = oracle_of({"", {.n_q = 200, .n_k = 200, .d = d}}, type);
      const auto value = [&](Index j, Index column) -> double& {
        return oracle.value[static_cast<std::size_t>(j * d + column)];
      };
      value(70, 3) = NAN, value(70, 40) = INFINITY, value(131, 17) = -INFINITY, value(199, 63) = NAN;
      oracle.mask.causal = true;
      DeviceMemory memory;
      Problem problem = on_device(oracle, type, memory);
      problem.visible.right = 0;
      const reference::Forward expected = reference::forward(oracle);
      for (const MomentSet moments : {MomentSet::partition, MomentSet::entropy, MomentSet::all}) {
        problem.moments = moments;
        EXPECT_LT(relative_error(run(problem, memory).output, expected.output),
                  type == ElementType::bfloat16 ? 4e-3 : 6e-4);
      }
    }
}

TEST(CudaForward, ScoresThatAreNaN) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  reference::Problem oracle = oracle_of({"", {.heads = 1, .kv_heads = 1}}, ElementType::bfloat16);
  for (Index column = 0; column < oracle.d; ++column)
    oracle.query[static_cast<std::size_t>(5 * oracle.d + column)] = NAN;
  DeviceMemory memory;
  Problem problem = on_device(oracle, ElementType::bfloat16, memory);
  problem.sink = memory.numbers(ElementType::float32, {1});
  const FinishedRows found = run(problem, memory);
  EXPECT_TRUE(std::isnan(found.m[5]));
  EXPECT_TRUE(std::isnan(found.z[5]));
  EXPECT_TRUE(std::isnan(found.output[static_cast<std::size_t>(5 * oracle.d)]));
  EXPECT_TRUE(std::isfinite(found.m[4]));
  EXPECT_TRUE(std::isfinite(found.output[static_cast<std::size_t>(4 * oracle.d)]));
}

TEST(CudaForward, RepeatsBitForBit) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  const Case c = {"", {.n_q = 1000, .n_k = 1000}};
  const reference::Problem oracle = oracle_of(c, ElementType::bfloat16);
  DeviceMemory memory;
  Problem problem = on_device(oracle, ElementType::bfloat16, memory);
  problem.moments = MomentSet::all;
  const FinishedRows first = run(problem, memory), second = run(problem, memory);
  EXPECT_EQ(first.output, second.output);
  EXPECT_EQ(first.z, second.z);
  EXPECT_EQ(first.w, second.w);
}

}  // namespace
}  // namespace isentropic::cuda
