// Key mass on tensor cores against the oracle and the plain kernel.
#include "attention/cuda/key_mass.hpp"

#include "attention/cuda/plain.hpp"
#include "cuda/plain_case.hpp"
#include "reference/forward.hpp"

namespace isentropic::cuda {
namespace {

// The oracle's finished rows.
RowArrays rows_of(const reference::Forward& expected, DeviceMemory& memory) {
  Numbers m = expected.statistics.at("max_score"), z = expected.statistics.at("peak");
  for (std::size_t row = 0; row < z.size(); ++row) {
    const bool is_empty = expected.visible[row] == 0;
    m[row] = is_empty ? -INFINITY : m[row], z[row] = is_empty ? 0 : 1 / z[row];
  }
  RowArrays rows;
  rows.m = memory.numbers(ElementType::float32, m), rows.z = memory.numbers(ElementType::float32, z);
  return rows;
}

Numbers mass_of(const Problem& p, const RowArrays& rows, DeviceMemory& memory) {
  const auto count = static_cast<std::size_t>(p.batch * p.heads * p.n_k);
  void* const mass = memory.poisoned(count * sizeof(float));
  require(key_mass(p, rows, mass, nullptr));
  require(cudaDeviceSynchronize());
  return read_numbers(ElementType::float32, mass, count);
}

class CudaKeyMass : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }
};

TEST_P(CudaKeyMass, AgreesWithTheOracle) {
  for (const ElementType type : {ElementType::bfloat16, ElementType::float16})
    for (const Index d : {64, 128}) {
      SCOPED_TRACE("d = " + std::to_string(d) + ", type " + std::to_string(static_cast<int>(type)));
      Case c = GetParam();
      c.sizes.d = d;
      PlainProblem both(c, type);
      ASSERT_TRUE(has_key_mass(both.problem));
      const reference::Forward expected = reference::forward(both.oracle);
      const Numbers found = mass_of(both.problem, rows_of(expected, both.memory), both.memory);
      EXPECT_LT(relative_error(found, expected.key_mass), tolerance(both.oracle, ElementType::float32));
    }
}

std::vector<Case> key_mass_cases() {
  std::vector<Case> cases = span_cases();
  for (const Case& c : plain_cases())
    if (c.name == "documents with prefix") cases.push_back(c);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaKeyMass, testing::ValuesIn(key_mass_cases()), case_name);

class CudaKeyMassEdges : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }
};

const Case kCausal = {"", {.n_q = 60, .n_k = 200}, [](reference::Problem& oracle, DeviceProblem& device) {
                        oracle.mask.causal = true, device.problem.visible.right = 0;
                      }};

// No row sees keys from 60 on.
TEST_F(CudaKeyMassEdges, HiddenKeysDoNotMatter) {
  PlainProblem c(kCausal, ElementType::bfloat16);
  const reference::Forward expected = reference::forward(c.oracle);
  Numbers keys = c.oracle.key;
  for (Index h = 0; h < 2; ++h) std::fill(keys.begin() + (h * 200 + 60) * 64, keys.begin() + (h + 1) * 200 * 64, NAN);
  c.problem.key = c.memory.numbers(c.problem.type, keys);
  const Numbers found = mass_of(c.problem, rows_of(expected, c.memory), c.memory);
  EXPECT_LT(relative_error(found, expected.key_mass), tolerance(c.oracle, ElementType::float32));
}

TEST_F(CudaKeyMassEdges, NoRowsGiveNoMass) {
  PlainProblem c({"", {.n_q = 0, .n_k = 130}}, ElementType::bfloat16);
  EXPECT_EQ(mass_of(c.problem, {}, c.memory), Numbers(260, 0.0));
}

TEST_F(CudaKeyMassEdges, NanStaysWithTheKeysOfItsRow) {
  PlainProblem c(kCausal, ElementType::bfloat16);
  reference::Forward expected = reference::forward(c.oracle);
  expected.statistics.at("peak")[20] = NAN;
  const Numbers found = mass_of(c.problem, rows_of(expected, c.memory), c.memory);
  for (std::size_t j = 0; j < found.size(); ++j) EXPECT_EQ(std::isnan(found[j]), j <= 20) << j;
}

TEST_F(CudaKeyMassEdges, AgreesWithThePlainKernel) {
  const Case c = {"", {.heads = 4, .kv_heads = 2, .n_q = 1500, .n_k = 1500, .d = 128}, kCausal.change};
  PlainProblem both(c, ElementType::bfloat16);
  const Problem& p = both.problem;
  const ForwardOutput out = forward_output(p, both.memory);
  require(plain_forward(p, out, nullptr));
  void* const mass = both.memory.poisoned(4 * 1500 * sizeof(float));
  require(plain_key_mass(p, out.rows, mass, nullptr));
  const Numbers found = mass_of(p, out.rows, both.memory);
  EXPECT_LT(relative_error(found, read_numbers(ElementType::float32, mass, 4 * 1500)), 1e-4);
  EXPECT_EQ(found, mass_of(p, out.rows, both.memory));
}

}  // namespace
}  // namespace isentropic::cuda
