// The argmax on tensor cores against the oracle.
#include "attention/cuda/argmax.hpp"

#include "cuda/plain_case.hpp"
#include "reference/forward.hpp"

namespace isentropic::cuda {
namespace {

class CudaArgmax : public testing::TestWithParam<Case> {};

TEST_P(CudaArgmax, AgreesWithTheOracle) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type : {ElementType::bfloat16, ElementType::float16})
    for (const Index d : {64, 128}) {
      Case c = GetParam();
      c.sizes.d = d;
      reference::Problem oracle = oracle_of(c, type);
      DeviceMemory memory;
      DeviceProblem device{memory, on_device(oracle, type, memory)};
      c.change(oracle, device);
      ASSERT_TRUE(has_argmax(device.problem));
      const auto rows = static_cast<std::size_t>(device.problem.rows());
      auto* const places = static_cast<std::int64_t*>(memory.poisoned(rows * 8));
      require(argmax(device.problem, places, nullptr));
      require(cudaDeviceSynchronize());
      const std::vector<std::int64_t> found = read_list<std::int64_t>(places, rows);
      const Numbers weights = reference::forward(oracle).weights;
      const auto n_k = static_cast<std::size_t>(oracle.n_k);
      for (std::size_t row = 0; row < rows; ++row) {
        const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(row * n_k);
        const double most = *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(n_k));
        if (most == 0) {
          ASSERT_EQ(found[row], -1) << "row " << row;
          continue;
        }
        // Scores within a rounding error of each other may swap places.
        ASSERT_GE(found[row], 0) << "row " << row;
        ASSERT_NEAR(begin[found[row]], most, 1e-3 * most) << c.name << ", row " << row;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaArgmax, testing::ValuesIn(span_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Dense, CudaArgmax, testing::ValuesIn(dense_cases()), case_name);

}  // namespace
}  // namespace isentropic::cuda
