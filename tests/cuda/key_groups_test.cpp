// Statistics over key groups on tensor cores against the oracle and the plain kernel.
#include "attention/cuda/key_groups.hpp"

#include "attention/cuda/forward.hpp"
#include "attention/cuda/plain.hpp"
#include "cuda/plain_case.hpp"
#include "reference/forward.hpp"
#include "reference/mask.hpp"

namespace isentropic::cuda {
namespace {

struct FoundGroups {
  Numbers first_mass, recent_mass, entropy_without_first, mean_distance;
};

cudaError_t own_pass(PlainProblem& c, KeyGroupArrays& groups) { return key_groups(c.problem, groups, nullptr); }

cudaError_t plain_pass(PlainProblem& c, KeyGroupArrays& groups) { return plain_key_groups(c.problem, groups, nullptr); }

// As part of a forward pass, whose output and records are ignored.
cudaError_t forward_pass(PlainProblem& c, KeyGroupArrays& groups) {
  groups.drowned = static_cast<std::int32_t*>(c.memory.poisoned(forward_groups_workspace(c.problem)));
  ForwardOutput out = forward_output(c.problem, c.memory);
  out.groups = groups;
  return forward(c.problem, out, nullptr);
}

template <class Pass>
FoundGroups run_groups(PlainProblem& c, Index first, Index recent, Pass pass) {
  const auto rows = static_cast<std::size_t>(c.problem.rows());
  const auto real = [&] { return c.memory.poisoned(rows * sizeof(float)); };
  KeyGroupArrays groups = {first, recent, nullptr, real(), real(), real(), real()};
  if (!c.oracle.mask.documents.empty()) {
    std::vector<std::int32_t> positions;
    for (Index b = 0; b < c.oracle.batch; ++b)
      for (Index i = 0; i < c.oracle.n_q; ++i)
        positions.push_back(static_cast<std::int32_t>(reference::query_place(c.oracle, b, i).position));
    groups.positions_in_document = c.memory.list(positions);
  }
  require(pass(c, groups));
  require(cudaDeviceSynchronize());
  const auto read = [&](const void* data) { return read_numbers(ElementType::float32, data, rows); };
  return {read(groups.first_mass), read(groups.recent_mass), read(groups.entropy_without_first),
          read(groups.mean_distance)};
}

void expect_groups(const FoundGroups& found, const reference::Forward& expected, double bound, Index keys) {
  const auto expect = [&](const Numbers& numbers, const char* name, double size) {
    const Numbers& of = expected.statistics.at(name);
    for (std::size_t row = 0; row < of.size(); ++row)
      ASSERT_NEAR(numbers[row], of[row], bound * (size + std::abs(of[row]))) << name << ", row " << row;
  };
  expect(found.first_mass, "first_mass", 1);
  expect(found.recent_mass, "recent_mass", 1);
  expect(found.entropy_without_first, "entropy_without_first", 1);
  expect(found.mean_distance, "mean_distance", static_cast<double>(keys));  // multiplies the weight's error
}

class CudaKeyGroups : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }
};

TEST_P(CudaKeyGroups, AgreesWithTheOracle) {
  for (const ElementType type : {ElementType::bfloat16, ElementType::float16})
    for (const Index d : {64, 128})
      for (const auto& [first, recent] : {std::pair<Index, Index>{3, 10}, {70, 1}}) {
        SCOPED_TRACE("d = " + std::to_string(d) + ", type " + std::to_string(static_cast<int>(type)) + ", first " +
                     std::to_string(first));
        Case c = GetParam();
        c.sizes.d = d;
        PlainProblem both(c, type);
        both.oracle.groups = {true, first, recent};
        ASSERT_TRUE(has_key_groups(both.problem));
        const reference::Forward expected = reference::forward(both.oracle);
        const double bound = tolerance(both.oracle, ElementType::float32);
        const Index keys = both.oracle.n_k + both.oracle.n_q;
        expect_groups(run_groups(both, first, recent, own_pass), expected, bound, keys);
        if (has_forward_with_groups(both.problem))
          expect_groups(run_groups(both, first, recent, forward_pass), expected, bound, keys);
      }
}

// Key 0 outweighs all others by e^200, or by e^-200 for queries that point away from it.
void dominant_first_key(reference::Problem& oracle, DeviceProblem& device) {
  oracle.mask.causal = true, device.problem.visible.right = 0;
  for (Index h = 0; h < oracle.kv_heads; ++h)
    for (Index t = 0; t < oracle.d; ++t)
      oracle.key[static_cast<std::size_t>(h * oracle.n_k * oracle.d + t)] = t == 0 ? 256 : 0;
  for (Index row = 0; row < oracle.heads * oracle.n_q; ++row)
    oracle.query[static_cast<std::size_t>(row * oracle.d)] = (row % 3 == 0 ? -1 : 1) * (oracle.d == 64 ? 6.25 : 8.75);
  device.problem.query = device.memory.numbers(device.problem.type, oracle.query);
  device.problem.key = device.memory.numbers(device.problem.type, oracle.key);
}

std::vector<Case> key_group_cases() {
  std::vector<Case> cases = span_cases();
  cases.push_back({"dominant first key", {.n_q = 180, .n_k = 180}, dominant_first_key});
  return cases;
}

// The forward pass has the same output and records with and without groups, and flags blocks that lost sight of keys.
TEST_P(CudaKeyGroups, LeaveTheForwardPassAsItIs) {
  for (const ElementType type : {ElementType::bfloat16, ElementType::float16})
    for (const Index d : {64, 128}) {
      SCOPED_TRACE("d = " + std::to_string(d) + ", type " + std::to_string(static_cast<int>(type)));
      Case c = GetParam();
      c.sizes.d = d;
      PlainProblem both(c, type);
      if (!has_forward_with_groups(both.problem)) continue;
      const Problem& p = both.problem;
      const auto rows = static_cast<std::size_t>(p.rows());
      const ForwardOutput without = forward_output(p, both.memory);
      ForwardOutput with = forward_output(p, both.memory);
      const std::size_t blocks = forward_groups_workspace(p) / sizeof(std::int32_t);
      with.groups.first = 3, with.groups.first_mass = both.memory.poisoned(rows * sizeof(float));
      with.groups.drowned = static_cast<std::int32_t*>(both.memory.poisoned(forward_groups_workspace(p)));
      require(forward(p, without, nullptr));
      require(forward(p, with, nullptr));
      require(cudaDeviceSynchronize());
      const auto reals = [&](const void* data) { return read_numbers(ElementType::float32, data, rows); };
      const auto outputs = [&](const ForwardOutput& out) {
        return read_numbers(type, out.output, rows * static_cast<std::size_t>(p.d_v));
      };
      EXPECT_LT(relative_error(outputs(with), outputs(without)), type == ElementType::bfloat16 ? 4e-3 : 6e-4);
      EXPECT_LT(relative_error(reals(with.rows.m), reals(without.rows.m)), 1e-6);
      EXPECT_LT(relative_error(reals(with.rows.z), reals(without.rows.z)), 1e-5);
      EXPECT_LT(relative_error(reals(with.rows.u), reals(without.rows.u)), 1e-5);
      EXPECT_LT(relative_error(reals(with.rows.w), reals(without.rows.w)), 1e-5);
      EXPECT_LT(relative_error(reals(with.rows.c), reals(without.rows.c)), 1e-5);
      if (c.name == "large scores") continue;  // may or may not be lost
      for (const std::int32_t flag : read_list<std::int32_t>(with.groups.drowned, blocks))
        EXPECT_EQ(flag, c.name == "dominant first key" ? 1 : 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Dense, CudaKeyGroups, testing::ValuesIn(dense_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Cases, CudaKeyGroups, testing::ValuesIn(key_group_cases()), case_name);

class CudaKeyGroupsEdges : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }
};

const Case kCausalRows = {"", {.n_q = 100, .n_k = 200}, [](reference::Problem& oracle, DeviceProblem& device) {
                            oracle.mask.causal = true, device.problem.visible.right = 0;
                          }};

// No row sees keys from 100 on; query 30 of head 0 is NaN.
TEST_F(CudaKeyGroupsEdges, NanStaysInItsRow) {
  PlainProblem c(kCausalRows, ElementType::bfloat16);
  Numbers keys = c.oracle.key, queries = c.oracle.query;
  for (Index h = 0; h < 2; ++h) std::fill(keys.begin() + (h * 200 + 100) * 64, keys.begin() + (h + 1) * 200 * 64, NAN);
  queries[30 * 64 + 5] = NAN;
  c.problem.key = c.memory.numbers(c.problem.type, keys);
  c.problem.query = c.memory.numbers(c.problem.type, queries);
  for (const auto pass : {own_pass, forward_pass}) {
    const FoundGroups found = run_groups(c, 2, 8, pass);
    for (std::size_t row = 0; row < 200; ++row)
      for (const Numbers* numbers :
           {&found.first_mass, &found.recent_mass, &found.entropy_without_first, &found.mean_distance})
        EXPECT_EQ(std::isnan((*numbers)[row]), row == 30) << row;
  }
}

// All masses are 1 if all keys count as first.
TEST_F(CudaKeyGroupsEdges, TakesMoreFirstKeysThanThereAre) {
  PlainProblem c(kCausalRows, ElementType::float16);
  for (const auto pass : {own_pass, forward_pass}) {
    const FoundGroups found = run_groups(c, Index{1} << 40, Index{1} << 40, pass);
    for (std::size_t row = 0; row < 200; ++row) {
      EXPECT_NEAR(found.first_mass[row], 1, 1e-6);
      EXPECT_EQ(found.recent_mass[row], 0);
      EXPECT_EQ(found.entropy_without_first[row], 0);
    }
  }
}

TEST_F(CudaKeyGroupsEdges, AgreesWithThePlainKernel) {
  const Case c = {"", {.heads = 4, .kv_heads = 2, .n_q = 1500, .n_k = 1500, .d = 128}, kCausalRows.change};
  PlainProblem both(c, ElementType::bfloat16);
  const FoundGroups found = run_groups(both, 4, 64, own_pass), plain = run_groups(both, 4, 64, plain_pass);
  EXPECT_LT(relative_error(found.first_mass, plain.first_mass), 1e-4);
  EXPECT_LT(relative_error(found.recent_mass, plain.recent_mass), 1e-4);
  EXPECT_LT(relative_error(found.entropy_without_first, plain.entropy_without_first), 1e-5);
  EXPECT_LT(relative_error(found.mean_distance, plain.mean_distance), 1e-4);
  EXPECT_EQ(found.mean_distance, run_groups(both, 4, 64, own_pass).mean_distance);
}

}  // namespace
}  // namespace isentropic::cuda
