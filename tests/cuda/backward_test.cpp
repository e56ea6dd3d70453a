// The backward pass on tensor cores against the oracle: gradients of inputs, scales and slopes.
#include <future>

#include "cuda/backward_case.hpp"

namespace isentropic::cuda::backward_test {
namespace {

class CudaBackward : public testing::TestWithParam<Case> {};

struct Widths {
  Index d, d_v;
};

// Computes the case's gradients with each of the tiles, added up in any order and in a fixed one.
void expect_agreement(const Case& given, const std::vector<Widths>& widths, const std::vector<BackwardTile>& tiles) {
  std::vector<std::unique_ptr<Trial>> trials;
  std::vector<std::future<reference::DenseGradients>> oracles;
  for (const ElementType type : kTypes)
    for (const Widths& width : widths)
      for (const bool higher : {false, true}) {
        Case c = given;
        c.sizes.d = width.d, c.sizes.d_v = width.d_v;
        trials.push_back(std::make_unique<Trial>(c, type, UpstreamSet{.higher = higher}));
        oracles.push_back(std::async(std::launch::async, &Trial::expected, trials.back().get()));
      }
  for (std::size_t t = 0; t < trials.size(); ++t) {
    const auto& trial = trials[t];
    const Problem& p = trial->problem.problem;
    const reference::DenseGradients expected = oracles[t].get();
    ASSERT_TRUE(has_backward(trial->problem));
    for (const BackwardTile tile : tiles)
      for (const bool deterministic : {false, true}) {
        SCOPED_TRACE("d = " + std::to_string(p.d) + ", type " + std::to_string(static_cast<int>(p.type)) + ", tile " +
                     std::to_string(static_cast<int>(tile)) + (trial->problem.rows.a2 ? ", V and collision" : "") +
                     (deterministic ? ", deterministic" : ""));
        BackwardProblem in = trial->problem;
        in.deterministic = deterministic;
        expect_gradients(run(in, tile, trial->memory), trial->oracle, expected, p.type);
      }
  }
}

TEST_P(CudaBackward, AgreesWithTheOracle) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  expect_agreement(GetParam(), {{64, 64}, {128, 128}}, {BackwardTile::large, BackwardTile::small});
}

// Heads that fill their kernel's width, and some that do not.
TEST_P(CudaBackward, WideHeadsAgreeWithTheOracle) {
  if (!has_room_for_wide_heads()) GTEST_SKIP() << "no NVIDIA GPU with enough shared memory";
  expect_agreement(GetParam(), {{192, 128}, {256, 256}, {136, 72}, {40, 200}}, {BackwardTile::wide});
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaBackward, testing::ValuesIn(span_cases()), case_name);

class CudaBackwardDense : public testing::TestWithParam<Case> {};

TEST_P(CudaBackwardDense, AgreesWithTheOracle) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  expect_agreement(GetParam(), {{64, 64}, {128, 128}}, {BackwardTile::small});
}

std::vector<Case> dense_backward_cases() {
  std::vector<Case> out = dense_cases();
  for (Case& c : plain_cases())
    if (c.name == "relative table in documents") out.push_back(std::move(c));
  return out;
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaBackwardDense, testing::ValuesIn(dense_backward_cases()), case_name);

TEST(CudaBackward, StatisticsAlone) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type : kTypes) {
    Trial trial(causal_of_sizes({.n_q = 150, .n_k = 150}), type, {.output = false, .higher = true});
    const Found found = run(trial.problem, BackwardTile::large, trial.memory);
    for (const double x : found.value) ASSERT_EQ(x, 0);
    expect_gradients(found, trial.oracle, trial.expected(), type);
  }
}

TEST(CudaBackward, RepeatsBitForBit) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const Index d : {64, 128})
    for (const BackwardTile tile : {BackwardTile::large, BackwardTile::small}) {
      Trial trial(causal_of_sizes({.batch = 2, .heads = 8, .kv_heads = 4, .n_q = 300, .n_k = 300, .d = d}),
                  ElementType::bfloat16, {});
      const Found any = run(trial.problem, tile, trial.memory);
      trial.problem.deterministic = true;
      const Found first = run(trial.problem, tile, trial.memory);
      for (int repeat = 0; repeat < 5; ++repeat) {
        const Found again = run(trial.problem, tile, trial.memory);
        EXPECT_EQ(first.query, again.query);
        EXPECT_EQ(first.lambda, again.lambda);
        EXPECT_EQ(first.key, again.key);
        EXPECT_EQ(first.value, again.value);
      }
      EXPECT_EQ(first.key, any.key);
      EXPECT_EQ(first.value, any.value);
    }
}

TEST(CudaBackward, LeavesOutWhatIsNotAskedFor) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  Trial trial(causal_of_sizes({.n_q = 150, .n_k = 150}), ElementType::bfloat16, {});
  trial.problem.deterministic = true;
  const Found all = run(trial.problem, BackwardTile::large, trial.memory);
  const Gradients to = trial.problem.gradients;
  const auto only = [&](void* Gradients::*member) {
    trial.problem.gradients = to;
    for (auto each : {&Gradients::query, &Gradients::key, &Gradients::value, &Gradients::lambda})
      if (each != member) trial.problem.gradients.*each = nullptr;
    return run(trial.problem, BackwardTile::large, trial.memory);
  };
  EXPECT_EQ(only(&Gradients::query).query, all.query);
  EXPECT_EQ(only(&Gradients::key).key, all.key);
  EXPECT_EQ(only(&Gradients::value).value, all.value);
  EXPECT_EQ(only(&Gradients::lambda).lambda, all.lambda);
}

// A NaN value that only the last row sees: other rows have dP = NaN where their weight is 0.
TEST(CudaBackward, HiddenValuesDoNotLeak) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  Trial trial(causal_of_sizes({.heads = 1, .kv_heads = 1, .n_q = 150, .n_k = 150}), ElementType::bfloat16, {});
  trial.problem.deterministic = true;
  const Found clean = run(trial.problem, BackwardTile::large, trial.memory);
  Numbers value = trial.oracle.value;
  std::fill(value.end() - 64, value.end(), NAN);
  trial.problem.problem.value = trial.memory.numbers(ElementType::bfloat16, value);
  const Found found = run(trial.problem, BackwardTile::large, trial.memory);
  for (std::size_t i = 0; i < found.query.size(); ++i) {
    const bool last = i >= found.query.size() - 64;
    ASSERT_TRUE(last ? std::isnan(found.query[i]) : found.query[i] == clean.query[i]) << i;
    ASSERT_TRUE(last ? std::isnan(found.key[i]) : found.key[i] == clean.key[i]) << i;
  }
  EXPECT_EQ(found.value, clean.value);
}

// Documents with their own prefixes: one row does not tell which rows see a block of keys.
TEST(CudaBackward, PrefixesOfDocuments) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  Case c = {"prefixes", {.n_q = 200, .n_k = 200}};
  c.change = [](reference::Problem& oracle, DeviceProblem& device) {
    const std::vector<Index> starts = {0, 140, 200};
    oracle.mask.documents = {{starts, starts}};
    oracle.mask.causal = oracle.mask.has_window = true, oracle.mask.left = 20, oracle.mask.prefix = 5;
    std::vector<RowSpans> spans;
    for (std::int32_t i = 0; i < 200; ++i) {
      const std::int32_t start = i < 140 ? 0 : 140, begin = std::max(start + 5, i - 19);
      spans.push_back({start, start + 5, begin, std::max(begin, i + 1)});
    }
    device.problem.visible.spans = device.memory.list(spans);
    device.problem.visible.prefix_varies = true;
  };
  for (const bool deterministic : {false, true}) {
    Trial trial(c, ElementType::float16, {});
    trial.problem.deterministic = deterministic;
    expect_gradients(run(trial.problem, BackwardTile::large, trial.memory), trial.oracle, trial.expected(),
                     ElementType::float16);
  }
}

// Keys and values beyond every row's length are NaN.
TEST(CudaBackward, PaddingDoesNotLeak) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  const Index kept = 100;
  Case c = {"padded", {.heads = 1, .kv_heads = 1, .n_q = 150, .n_k = 150}};
  c.change = [&](reference::Problem& oracle, DeviceProblem& device) {
    oracle.mask.key_lengths = {kept};
    device.problem.visible.spans =
        device.memory.list(std::vector<RowSpans>(150, {0, 0, 0, static_cast<std::int32_t>(kept)}));
  };
  Trial trial(c, ElementType::bfloat16, {});
  trial.problem.deterministic = true;
  const Found clean = run(trial.problem, BackwardTile::large, trial.memory);
  Numbers key = trial.oracle.key, value = trial.oracle.value;
  std::fill(key.begin() + kept * 64, key.end(), NAN);
  std::fill(value.begin() + kept * 64, value.end(), NAN);
  trial.problem.problem.key = trial.memory.numbers(ElementType::bfloat16, key);
  trial.problem.problem.value = trial.memory.numbers(ElementType::bfloat16, value);
  const Found found = run(trial.problem, BackwardTile::large, trial.memory);
  EXPECT_EQ(found.query, clean.query);
  EXPECT_EQ(found.key, clean.key);
  EXPECT_EQ(found.value, clean.value);
  expect_gradients(found, trial.oracle, trial.expected(), ElementType::bfloat16);
}

}  // namespace
}  // namespace isentropic::cuda::backward_test
