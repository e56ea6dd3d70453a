// The plain forward pass and everything derived from its records, against the oracle.
#include "attention/cuda/plain.hpp"

#include "cuda/plain_case.hpp"
#include "isentropic/softmax_record.hpp"
#include "reference/forward.hpp"
#include "reference/mask.hpp"

namespace isentropic::cuda {
namespace {

struct PlainFound {
  Numbers output;
  std::vector<SoftmaxRecord<double>> records;
};

PlainFound read_plain(const Problem& p, const ForwardOutput& out) {
  const auto rows = static_cast<std::size_t>(p.rows());
  const auto real = [&](const void* data) { return read_numbers(real_type(p.type), data, rows); };
  const Numbers m = real(out.rows.m), z = real(out.rows.z), u = real(out.rows.u), w = real(out.rows.w),
                c = real(out.rows.c);
  const auto k = read_list<std::int64_t>(out.rows.k, rows), a = read_list<std::int64_t>(out.rows.a, rows);
  PlainFound found;
  for (std::size_t row = 0; row < rows; ++row)
    found.records.push_back({m[row], {z[row], u[row], w[row], c[row]}, k[row], a[row]});
  found.output = read_numbers(p.type, out.output, rows * static_cast<std::size_t>(p.d_v));
  return found;
}

PlainFound run_plain(const Problem& problem, DeviceMemory& memory) {
  const ForwardOutput out = forward_output(problem, memory);
  require(plain_forward(problem, out, nullptr));
  require(cudaDeviceSynchronize());
  return read_plain(problem, out);
}

// Checks every statistic of the records. Moments grow with the scores' distance from the maximum.
void expect_plain_records(const reference::Problem& oracle, const reference::Forward& expected, const PlainFound& found,
                          double tolerance) {
  const auto& of = expected.statistics;
  const Numbers second = reference::second_moments(oracle);
  const double oracle_error = cuda::oracle_error(oracle);
  for (std::size_t row = 0; row < found.records.size(); ++row) {
    SCOPED_TRACE("row " + std::to_string(row));
    const SoftmaxRecord<double>& record = found.records[row];
    const auto expect = [&](const char* name, double value, double size) {
      ASSERT_NEAR(value, of.at(name)[row], tolerance * size) << name;
    };
    ASSERT_EQ(record.k, expected.visible[row]);
    if (expected.visible[row] == 0) {
      ASSERT_EQ(record.m, -INFINITY);
      ASSERT_EQ(record.sums.z, 0);
      ASSERT_EQ(record.a, -1);
      continue;
    }
    expect("max_score", record.m, 1);
    expect("peak", peak(record), 1);
    expect("entropy", entropy(record), 1 + of.at("entropy")[row]);
    expect("collision", collision(record), 1);
    expect("score_variance", score_variance(record), 1 + std::sqrt(second[row]) + second[row]);
    ASSERT_NEAR(mean_score(record), of.at("mean_score")[row], tolerance + oracle_error);
    const auto best = static_cast<std::size_t>(of.at("argmax")[row]);
    const double* weights = expected.weights.data() + row * static_cast<std::size_t>(oracle.n_k);
    ASSERT_TRUE(record.a >= 0 && record.a < oracle.n_k);
    ASSERT_GE(weights[record.a], weights[best] * (1 - 2 * tolerance));
  }
}

std::vector<Case> every_plain_case() {
  std::vector<Case> cases = span_cases();
  for (const Case& c : plain_cases()) cases.push_back(c);
  return cases;
}

class CudaPlain : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }
};

TEST_P(CudaPlain, AgreesWithTheOracle) {
  for (const ElementType type : {ElementType::float32, ElementType::float64}) {
    SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)));
    PlainProblem c(GetParam(), type);
    const reference::Forward expected = reference::forward(c.oracle);
    const PlainFound found = run_plain(c.problem, c.memory);
    const double bound = tolerance(c.oracle, type);
    EXPECT_LT(relative_error(found.output, expected.output), bound);
    expect_plain_records(c.oracle, expected, found, bound);
  }
}

TEST_P(CudaPlain, CountsWeighsAndAddsUp) {
  for (const ElementType type : {ElementType::float32, ElementType::float64}) {
    SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)));
    PlainProblem c(GetParam(), type);
    const Problem& p = c.problem;
    const reference::Forward expected = reference::forward(c.oracle);
    const ForwardOutput out = forward_output(p, c.memory);
    require(plain_forward(p, out, nullptr));
    const auto heads = static_cast<std::size_t>(p.batch * p.heads), n_k = static_cast<std::size_t>(p.n_k);
    const std::size_t real = size_of(real_type(type));

    auto* counts = static_cast<std::int64_t*>(c.memory.poisoned(static_cast<std::size_t>(p.rows()) * 8));
    require(count_visible(p, counts, nullptr));
    EXPECT_EQ(read_list<std::int64_t>(counts, static_cast<std::size_t>(p.rows())), expected.visible);

    const double bound = tolerance(c.oracle, type);
    void* mass = c.memory.poisoned(heads * n_k * real);
    require(plain_key_mass(p, out.rows, mass, nullptr));
    EXPECT_LT(relative_error(read_numbers(real_type(type), mass, heads * n_k), expected.key_mass), bound);

    std::vector<std::int64_t> which;
    for (std::int64_t i = p.n_q - 1; i >= 0; i -= i > 2 ? 2 : 1) which.push_back(i);
    for (const std::int64_t first_key : {std::int64_t{0}, p.n_k / 3, p.n_k - 1}) {
      Numbers rows;
      for (std::size_t head = 0; head < heads; ++head)
        for (const std::int64_t i : which) {
          const auto from = expected.weights.begin() + (static_cast<std::int64_t>(head) * p.n_q + i) * p.n_k;
          rows.insert(rows.end(), from + first_key, from + p.n_k);
        }
      void* weights = c.memory.poisoned(rows.size() * real);
      require(plain_weights(p, out.rows, c.memory.list(which), std::ssize(which), first_key, weights, nullptr));
      EXPECT_LT(relative_error(read_numbers(real_type(type), weights, rows.size()), rows), bound) << first_key;
    }
  }
}

TEST_P(CudaPlain, FindsKeyGroups) {
  for (const ElementType type : {ElementType::float32, ElementType::float64}) {
    SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)));
    PlainProblem c(GetParam(), type);
    c.oracle.groups = {true, 3, 10};
    std::vector<std::int32_t> positions;
    for (Index b = 0; b < c.oracle.batch; ++b)
      for (Index i = 0; i < c.oracle.n_q; ++i)
        positions.push_back(static_cast<std::int32_t>(reference::query_place(c.oracle, b, i).position));
    const auto rows = static_cast<std::size_t>(c.problem.rows());
    const auto real = [&] { return c.memory.poisoned(rows * size_of(real_type(type))); };
    KeyGroupArrays groups = {3, 10, nullptr, real(), real(), real(), real()};
    if (!c.oracle.mask.documents.empty()) groups.positions_in_document = c.memory.list(positions);
    require(plain_key_groups(c.problem, groups, nullptr));
    const reference::Forward expected = reference::forward(c.oracle);
    const double bound = tolerance(c.oracle, type);
    const auto expect = [&](const void* found, const char* name) {
      const Numbers numbers = read_numbers(real_type(type), found, rows);
      for (std::size_t row = 0; row < rows; ++row) {
        const double value = expected.statistics.at(name)[row];
        ASSERT_NEAR(numbers[row], value, bound * (1 + std::abs(value))) << name << ", row " << row;
      }
    };
    expect(groups.first_mass, "first_mass");
    expect(groups.recent_mass, "recent_mass");
    expect(groups.entropy_without_first, "entropy_without_first");
    // The error of a weight is multiplied by distances up to n.
    const Numbers found = read_numbers(real_type(type), groups.mean_distance, rows);
    for (std::size_t row = 0; row < rows; ++row)
      ASSERT_NEAR(found[row], expected.statistics.at("mean_distance")[row],
                  bound * static_cast<double>(c.oracle.n_k + c.oracle.n_q))
          << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaPlain, testing::ValuesIn(every_plain_case()), case_name);

class CudaPlainForward : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }
};

// One rounding, half of 2^-8 or 2^-11, and as much again for cancellation.
TEST_F(CudaPlainForward, TakesSixteenBits) {
  for (const ElementType type : {ElementType::bfloat16, ElementType::float16})
    for (const Case& c : span_cases()) {
      SCOPED_TRACE(c.name);
      PlainProblem both(c, type);
      const reference::Forward expected = reference::forward(both.oracle);
      const PlainFound found = run_plain(both.problem, both.memory);
      EXPECT_LT(relative_error(found.output, expected.output), type == ElementType::bfloat16 ? 0x1p-8 : 0x1p-11);
      expect_plain_records(both.oracle, expected, found, tolerance(both.oracle, ElementType::float32));
    }
}

TEST_F(CudaPlainForward, LowestIndexOfEqualScores) {
  const Case equal = {"equal", {.n_q = 70, .n_k = 150, .d = 8}, [](reference::Problem&, DeviceProblem& device) {
                        device.problem.scale = 0;
                        device.problem.tests.excludes_self = true;
                      }};
  PlainProblem c(equal, ElementType::float32);
  const PlainFound found = run_plain(c.problem, c.memory);
  for (std::size_t row = 0; row < found.records.size(); ++row) {
    EXPECT_EQ(found.records[row].a, row % 70 == 0 ? 1 : 0);
    EXPECT_EQ(found.records[row].sums.z, 149);
    EXPECT_EQ(found.records[row].sums.u, 0);
    EXPECT_EQ(found.records[row].sums.c, 149);
  }
}

// Query 5 of head 1 is NaN. So are keys and values from 60 on, which causal rows do not see, and value 0, whose weight
// is 0 in every row but the first.
TEST_F(CudaPlainForward, KeepsNanInItsRow) {
  const Case broken = {
      "broken", {.n_q = 60, .n_k = 100, .d = 8}, [](reference::Problem& oracle, DeviceProblem& device) {
        oracle.mask.causal = true, device.problem.visible.right = 0;
        for (Index h = 0; h < 2; ++h) {
          for (Index j = 60; j < 100; ++j)
            for (Index t = 0; t < 8; ++t) {
              oracle.key[static_cast<std::size_t>((h * 100 + j) * 8 + t)] = NAN;
              oracle.value[static_cast<std::size_t>((h * 100 + j) * 8 + t)] = t % 2 ? NAN : INFINITY;
            }
          oracle.value[static_cast<std::size_t>(h * 100 * 8 + 3)] = NAN;
        }
        oracle.query[(60 + 5) * 8 + 2] = NAN;
        oracle.bias.kind = reference::BiasKind::dense;
        oracle.bias.dense.assign(2 * 60 * 100, 0.0);
        for (std::size_t row = 0; row < 120; ++row) oracle.bias.dense[row * 100] = -1e6;
        const ElementType type = device.problem.type;
        device.problem.query = device.memory.numbers(type, oracle.query);
        device.problem.key = device.memory.numbers(type, oracle.key);
        device.problem.value = device.memory.numbers(type, oracle.value);
        device.problem.bias = {device.memory.numbers(type, oracle.bias.dense), type, {12000, 6000, 100, 1}};
      }};
  for (const ElementType type : {ElementType::float32, ElementType::float64}) {
    PlainProblem c(broken, type);
    const PlainFound found = run_plain(c.problem, c.memory);
    for (std::size_t row = 0; row < 120; ++row) {
      SCOPED_TRACE(row);
      const bool is_nan = row == 65;
      EXPECT_EQ(std::isnan(found.records[row].m), is_nan);
      EXPECT_EQ(std::isnan(found.records[row].sums.z), is_nan);
      for (std::size_t t = 0; t < 8; ++t)
        EXPECT_EQ(std::isnan(found.output[row * 8 + t]), is_nan || (row % 60 == 0 && t == 3));
    }
  }
}

TEST_F(CudaPlainForward, WritesNothingButStatisticsWithoutValues) {
  PlainProblem c({"", {.n_q = 70, .n_k = 90, .d = 8}}, ElementType::float32);
  const PlainFound with_values = run_plain(c.problem, c.memory);
  c.problem.value = nullptr;
  const PlainFound without = run_plain(c.problem, c.memory);
  for (std::size_t row = 0; row < without.records.size(); ++row) {
    EXPECT_EQ(without.records[row].m, with_values.records[row].m);
    EXPECT_EQ(without.records[row].sums.w, with_values.records[row].sums.w);
  }
  EXPECT_TRUE(std::isnan(without.output[0]));  // still poisoned
}

TEST_F(CudaPlainForward, WritesOutputsOfAnyStride) {
  const Case c = {"", {.batch = 2, .n_q = 70, .n_k = 90, .d = 12}};
  PlainProblem plain(c, ElementType::float32);
  const Problem& p = plain.problem;
  const Numbers expected = run_plain(p, plain.memory).output;
  ForwardOutput out = forward_output(p, plain.memory);
  out.rows = {};
  out.output_stride = {p.n_q * p.heads * p.d_v, p.d_v, p.heads * p.d_v};  // [batch, n_q, heads, d_v]
  require(plain_forward(p, out, nullptr));
  const Numbers found = read_numbers(p.type, out.output, expected.size());
  for (std::int64_t at = 0; at < std::ssize(expected); ++at) {
    const std::int64_t t = at % 12, i = at / 12 % 70, h = at / 12 / 70 % 2, b = at / 12 / 70 / 2;
    ASSERT_EQ(found[static_cast<std::size_t>(((b * 70 + i) * 2 + h) * 12 + t)], expected[static_cast<std::size_t>(at)]);
  }
}

TEST_F(CudaPlainForward, TakesNoKeysAndNoRows) {
  PlainProblem no_keys({"", {.n_q = 70, .n_k = 0, .d = 8}}, ElementType::float32);
  const PlainFound found = run_plain(no_keys.problem, no_keys.memory);
  EXPECT_EQ(found.output, Numbers(found.output.size(), 0.0));
  for (const auto& record : found.records) EXPECT_TRUE(record.empty() && record.k == 0 && record.m == -INFINITY);
  PlainProblem no_rows({"", {.n_q = 0, .n_k = 70, .d = 8}}, ElementType::float32);
  EXPECT_TRUE(run_plain(no_rows.problem, no_rows.memory).records.empty());
  void* mass = no_rows.memory.poisoned(2 * 70 * 4);
  require(plain_key_mass(no_rows.problem, {}, mass, nullptr));
  EXPECT_EQ(read_numbers(ElementType::float32, mass, 140), Numbers(140, 0.0));
}

TEST_F(CudaPlainForward, TakesManyHeads) {
  PlainProblem c({"", {.batch = 70000, .heads = 1, .kv_heads = 1, .n_q = 1, .n_k = 2, .d = 1}}, ElementType::float32);
  const PlainFound found = run_plain(c.problem, c.memory);
  EXPECT_LT(relative_error(found.output, reference::forward(c.oracle).output), tolerance(c.oracle, c.problem.type));
}

}  // namespace
}  // namespace isentropic::cuda
