// The loss kernels on a chunk of products, against plain loops in double.
#include "cuda/device_case.hpp"
#include "losses/cuda/chunk.hpp"

namespace isentropic::cuda {
namespace {

struct LossCase {
  std::string name;
  Index rows = 7, keys = 300;
  double scale = 0.5, soft_cap = 0, size = 3;
  bool bias = false, exclude_self = false;
  Index first_row = 0;
};

std::vector<LossCase> loss_cases() {
  return {
      {"plain"},
      {"one key", 3, 1},
      {"odd lengths", 5, 1023},
      {"more than a block holds", 3, 20001},
      {"soft cap", 7, 301, 0.7, 2.0},
      {"bias", 9, 130, 0.5, 0, 3, true},
      {"without itself", 40, 40, 0.5, 0, 3, false, true},
      {"everything, from a row on", 5, 40, 0.5, 4.0, 3, true, true, 11},
      {"large scores", 6, 500, 1.0, 0, 300},
  };
}

// The chunk's rows start at first_row of the whole problem. They include a row without a target, one with a target out
// of range, one whose target is hidden, and one without upstream gradient.
struct LossProblem {
  LossCase c;
  Index all_rows;
  Numbers products, bias, loss_up, partition_up, entropy_up;
  std::vector<std::int64_t> target;

  explicit LossProblem(const LossCase& given) : c(given), all_rows(given.first_row + given.rows) {
    std::mt19937 random(11);
    products = normal(c.rows * c.keys, c.size, ElementType::float32, random);
    bias = normal(c.keys, 1, ElementType::float32, random);
    if (c.bias && c.keys > 4) bias[3] = -INFINITY;
    for (Numbers* up : {&loss_up, &partition_up, &entropy_up}) *up = normal(all_rows, 1, ElementType::float32, random);
    for (Index i = 0; i < all_rows; ++i) target.push_back((5 * i + 2) % c.keys);
    const Index first = c.first_row;
    target[first] = c.bias && c.keys > 4 ? 3 : 0;
    target[first + 1] = -1;
    target[first + 2] = c.keys + 5;
    if (c.rows > 3 && c.exclude_self) target[first + 3] = first + 3;
    if (c.rows > 4) loss_up[first + 4] = partition_up[first + 4] = entropy_up[first + 4] = 0;
  }
};

struct ExpectedLoss {
  Numbers loss, log_partition, entropy, gradient, scale, bias;
};

ExpectedLoss expected_of(const LossProblem& x) {
  const LossCase& c = x.c;
  ExpectedLoss out;
  out.bias.assign(c.keys, 0.0);
  for (Index i = 0; i < c.rows; ++i) {
    const Index row = c.first_row + i;
    const bool has_target = x.target[row] >= 0 && x.target[row] < c.keys;
    const Index target = has_target ? x.target[row] : -1;
    Numbers s(c.keys), slope(c.keys, 1.0);
    std::vector<bool> seen(c.keys);
    double top = -INFINITY, z = 0, others = 0, mean = 0;
    for (Index j = 0; j < c.keys; ++j) {
      s[j] = c.scale * x.products[i * c.keys + j];
      if (c.soft_cap > 0) {
        const double t = std::tanh(s[j] / c.soft_cap);
        s[j] = c.soft_cap * t, slope[j] = 1 - t * t;
      }
      if (c.bias) s[j] += x.bias[j];
      seen[j] = !(c.exclude_self && j == row) && !(c.bias && x.bias[j] == -INFINITY);
      if (seen[j]) top = std::max(top, s[j]);
    }
    for (Index j = 0; j < c.keys; ++j) {
      if (!seen[j]) continue;
      z += std::exp(s[j] - top), mean += s[j] * std::exp(s[j] - top);
      if (j != target) others += std::exp(s[j] - top);
    }
    const double log_partition = top + std::log(z);
    mean /= z;
    const double log_others = top + std::log(others);
    double loss = 0;
    if (has_target) loss = seen[target] ? std::log1p(std::exp(log_others - s[target])) : log_others - s[target];
    if (has_target && seen[target] && others == 0) loss = 0;
    if (has_target && seen[target] && log_others - s[target] > 600) loss = log_others - s[target];
    out.loss.push_back(loss), out.log_partition.push_back(log_partition), out.entropy.push_back(log_partition - mean);
    double of_scale = 0;
    for (Index j = 0; j < c.keys; ++j) {
      const double p = seen[j] ? std::exp(s[j] - log_partition) : 0;
      double g = p == 0 ? 0 : p * (x.partition_up[row] - x.entropy_up[row] * (s[j] - mean));
      if (has_target && j == target)
        g = seen[j] ? g + x.loss_up[row] * std::expm1(-loss) : -x.loss_up[row];
      else if (has_target)
        g += x.loss_up[row] * p;
      out.bias[j] += g;
      out.gradient.push_back(g * slope[j]);
      of_scale += g * slope[j] * x.products[i * c.keys + j];
    }
    out.scale.push_back(of_scale);
  }
  return out;
}

// The rows from `first` on of an array over the whole problem.
Numbers rows_from(const Numbers& all, Index first) { return {all.begin() + first, all.end()}; }

struct LossOnDevice {
  LossOnDevice(const LossProblem& x, DeviceMemory& memory) {
    const LossCase& c = x.c;
    stride = (c.keys + 7) / 4 * 4;  // poison follows the last key
    Numbers padded(c.rows * stride, NAN);
    for (Index i = 0; i < c.rows; ++i)
      for (Index j = 0; j < c.keys; ++j) padded[i * stride + j] = x.products[i * c.keys + j];
    const auto floats = [&](const Numbers& values) {
      return static_cast<const float*>(memory.numbers(ElementType::float32, values));
    };
    chunk.products = floats(padded), chunk.stride = stride, chunk.rows = c.rows, chunk.keys = c.keys;
    chunk.first_row = c.first_row, chunk.all_keys = c.keys, chunk.target = memory.list(x.target);
    chunk.scale = floats({c.scale}), chunk.bias = c.bias ? floats(x.bias) : nullptr;
    chunk.soft_cap = static_cast<float>(c.soft_cap), chunk.exclude_self = c.exclude_self;
    const auto all = static_cast<std::size_t>(x.all_rows);
    const auto poisoned = [&] { return static_cast<float*>(memory.poisoned(all * sizeof(float))); };
    rows = {poisoned(), poisoned(), poisoned(), static_cast<double*>(memory.poisoned(all * 7 * sizeof(double)))};
    upstream.loss = floats(x.loss_up), upstream.log_partition = floats(x.partition_up);
    upstream.entropy = floats(x.entropy_up), upstream.largest = floats({kLargest});
    terms = static_cast<LossTerms*>(memory.poisoned(all * sizeof(LossTerms)));
    used = static_cast<bool*>(memory.poisoned(all));
    scale_gradient = poisoned();
  }
  static constexpr double kLargest = 4;
  Index stride;
  LossChunk chunk;
  LossRows rows;
  LossUpstream upstream;
  LossTerms* terms;
  bool* used;
  float* scale_gradient;
};

class CudaLosses : public testing::TestWithParam<LossCase> {};

// float32 scores of size s are rounded to 6e-8 s, which affects everything computed from them.
TEST_P(CudaLosses, RecordsAgreeWithPlainLoops) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  const LossProblem x(GetParam());
  const ExpectedLoss expected = expected_of(x);
  DeviceMemory memory;
  const LossOnDevice on_device(x, memory);
  require(loss_records(on_device.chunk, on_device.rows, nullptr));
  require(cudaDeviceSynchronize());
  const auto read = [&](const float* data) {
    return rows_from(read_numbers(ElementType::float32, data, x.all_rows), x.c.first_row);
  };
  const double tolerance = 1e-6 * (1 + x.c.size);
  const Numbers loss = read(on_device.rows.loss), log_partition = read(on_device.rows.log_partition),
                entropy = read(on_device.rows.entropy);
  for (Index i = 0; i < x.c.rows; ++i) {
    SCOPED_TRACE("row " + std::to_string(i));
    if (std::isfinite(expected.loss[i]))
      EXPECT_NEAR(loss[i], expected.loss[i], tolerance);
    else
      EXPECT_EQ(loss[i], expected.loss[i]);
    if (std::isfinite(expected.log_partition[i])) {
      EXPECT_NEAR(log_partition[i], expected.log_partition[i], tolerance);
      EXPECT_NEAR(entropy[i], expected.entropy[i], 10 * tolerance);
    }
  }
}

TEST_P(CudaLosses, GradientsAgreeWithPlainLoops) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  const LossProblem x(GetParam());
  const ExpectedLoss expected = expected_of(x);
  const auto [rows, keys] = std::pair(x.c.rows, x.c.keys);
  for (const auto& [type, tolerance] : {std::pair(ElementType::float32, 2e-5), std::pair(ElementType::bfloat16, 4e-3),
                                        std::pair(ElementType::float16, 1e-3)}) {
    SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)));
    DeviceMemory memory;
    const LossOnDevice on_device(x, memory);
    require(loss_records(on_device.chunk, on_device.rows, nullptr));
    require(loss_terms(on_device.chunk, x.c.first_row, rows, on_device.rows, on_device.upstream, on_device.terms,
                       on_device.used, nullptr));
    LossGradient gradient;
    const auto count = static_cast<std::size_t>(rows * on_device.stride);
    gradient.values = memory.poisoned(count * size_of(type)), gradient.type = type;
    gradient.stride = on_device.stride, gradient.scale_gradient = on_device.scale_gradient;
    require(loss_gradient(on_device.chunk, on_device.terms, on_device.upstream.largest, gradient, nullptr));
    auto* const sums =
        static_cast<float*>(memory.numbers(ElementType::float32, Numbers(static_cast<std::size_t>(keys), 0.0)));
    require(loss_bias_gradient(on_device.chunk, on_device.terms, sums, nullptr));
    require(cudaDeviceSynchronize());
    const Numbers padded = read_numbers(type, gradient.values, count);
    Numbers found;
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < keys; ++j) found.push_back(LossOnDevice::kLargest * padded[i * on_device.stride + j]);
    EXPECT_LT(relative_error(found, expected.gradient), tolerance * (1 + x.c.size / 10));
    const double precise = 2e-5 * (1 + x.c.size / 10);
    EXPECT_LT(relative_error(
                  rows_from(read_numbers(ElementType::float32, on_device.scale_gradient, x.all_rows), x.c.first_row),
                  expected.scale),
              10 * precise);
    Numbers bias = read_numbers(ElementType::float32, sums, keys);
    for (double& sum : bias) sum *= LossOnDevice::kLargest;
    EXPECT_LT(relative_error(bias, expected.bias), 10 * precise);
    const auto used = read_list<std::uint8_t>(on_device.used, x.all_rows);
    for (Index i = 0; i < rows; ++i) EXPECT_EQ(used[x.c.first_row + i], i == 4 ? 0 : 1) << i;
  }
}

// Half of the keys at a time, using the records of all.
TEST_P(CudaLosses, ABlockOfKeysHasItsPartOfTheGradient) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  const LossProblem x(GetParam());
  const ExpectedLoss expected = expected_of(x);
  const Index first = x.c.keys / 2 / 4 * 4;
  DeviceMemory memory;
  const LossOnDevice on_device(x, memory);
  require(loss_records(on_device.chunk, on_device.rows, nullptr));
  require(loss_terms(on_device.chunk, x.c.first_row, x.c.rows, on_device.rows, on_device.upstream, on_device.terms,
                     on_device.used, nullptr));
  LossChunk part = on_device.chunk;
  part.products += first, part.first_key = first, part.keys = x.c.keys - first;
  const auto count = static_cast<std::size_t>(x.c.rows * on_device.stride);
  LossGradient gradient;
  gradient.values = memory.poisoned(count * sizeof(float)), gradient.type = ElementType::float32;
  gradient.stride = on_device.stride;
  require(loss_gradient(part, on_device.terms, on_device.upstream.largest, gradient, nullptr));
  require(cudaDeviceSynchronize());
  const Numbers padded = read_numbers(ElementType::float32, gradient.values, count);
  Numbers found, wanted;
  for (Index i = 0; i < x.c.rows; ++i)
    for (Index j = first; j < x.c.keys; ++j) {
      found.push_back(LossOnDevice::kLargest * padded[i * on_device.stride + j - first]);
      wanted.push_back(expected.gradient[i * x.c.keys + j]);
    }
  EXPECT_LT(relative_error(found, wanted), 2e-5 * (1 + x.c.size / 10));
}

std::string loss_case_name(const testing::TestParamInfo<LossCase>& given) {
  std::string name = given.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cases, CudaLosses, testing::ValuesIn(loss_cases()), loss_case_name);

// One row sees a NaN; the others, including a row without weight, are unaffected.
TEST(CudaLossRows, NaNStaysInItsRow) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  LossProblem x({"NaN", 4, 50});
  x.products[50 + 7] = x.products[2 * 50 + 7] = NAN;
  x.loss_up[2] = x.partition_up[2] = x.entropy_up[2] = 0;
  DeviceMemory memory;
  const LossOnDevice on_device(x, memory);
  LossGradient gradient;
  gradient.values = memory.poisoned(4 * on_device.stride * sizeof(float)), gradient.type = ElementType::float32;
  gradient.stride = on_device.stride;
  require(loss_records(on_device.chunk, on_device.rows, nullptr));
  require(
      loss_terms(on_device.chunk, 0, 4, on_device.rows, on_device.upstream, on_device.terms, on_device.used, nullptr));
  require(loss_gradient(on_device.chunk, on_device.terms, on_device.upstream.largest, gradient, nullptr));
  require(cudaDeviceSynchronize());
  const Numbers entropy = read_numbers(ElementType::float32, on_device.rows.entropy, 4);
  const Numbers found = read_numbers(ElementType::float32, gradient.values, 4 * on_device.stride);
  for (Index i = 0; i < 4; ++i) {
    EXPECT_EQ(std::isnan(entropy[i]), i == 1 || i == 2) << i;
    EXPECT_EQ(std::isnan(found[i * on_device.stride]), i == 1) << i;
    if (i == 2) {
      EXPECT_EQ(found[i * on_device.stride], 0);
    }
  }
}

// A near-certain row keeps the digits of its loss: scores 12 apart, e^-12 = 6.1e-6.
TEST(CudaLossRows, ASureRow) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  LossProblem x({"sure", 3, 4, 1.0});
  x.products = {12, 0, -INFINITY, -INFINITY, 0, 0, 0, 0, 0, 0, 0, 0};
  x.target = {0, -1, -1};
  DeviceMemory memory;
  const LossOnDevice on_device(x, memory);
  require(loss_records(on_device.chunk, on_device.rows, nullptr));
  require(cudaDeviceSynchronize());
  EXPECT_NEAR(read_numbers(ElementType::float32, on_device.rows.loss, 3)[0] / std::log1p(std::exp(-12)), 1, 1e-6);
  EXPECT_NEAR(read_numbers(ElementType::float32, on_device.rows.entropy, 3)[1], std::log(4), 1e-6);
}

// The gradient of sum w (a loss + b L + c L^2) equals that of explicit per-row upstream gradients.
TEST(CudaLossRows, WeightsStandForUpstreamGradients) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  const LossProblem x({"weights", 6, 90});
  const ExpectedLoss rows = expected_of(x);
  DeviceMemory memory;
  const LossOnDevice on_device(x, memory);
  Numbers weights = {0.5, 1, 2, 0, 0.25, 3}, of_loss, of_partition;
  for (Index i = 0; i < 6; ++i) {
    of_loss.push_back(0.75 * weights[i]);
    of_partition.push_back(weights[i] * (0.5 + 2 * 0.125 * rows.log_partition[i]));
  }
  const auto floats = [&](const Numbers& values) {
    return static_cast<const float*>(memory.numbers(ElementType::float32, values));
  };
  LossUpstream by_weights, by_rows;
  by_weights.weights = floats(weights), by_rows.loss = floats(of_loss), by_rows.log_partition = floats(of_partition);
  by_weights.loss_factor = 0.75f, by_weights.partition_factor = 0.5f, by_weights.square_factor = 0.125f;
  by_weights.largest = by_rows.largest = on_device.upstream.largest;
  require(loss_records(on_device.chunk, on_device.rows, nullptr));
  Numbers found[2];
  for (int which = 0; which < 2; ++which) {
    LossGradient gradient;
    const auto count = static_cast<std::size_t>(6 * on_device.stride);
    gradient.values = memory.numbers(ElementType::float32, Numbers(count, 0.0)), gradient.type = ElementType::float32;
    gradient.stride = on_device.stride;
    require(loss_terms(on_device.chunk, 0, 6, on_device.rows, which ? by_rows : by_weights, on_device.terms,
                       on_device.used, nullptr));
    require(loss_gradient(on_device.chunk, on_device.terms, on_device.upstream.largest, gradient, nullptr));
    require(cudaDeviceSynchronize());
    found[which] = read_numbers(ElementType::float32, gradient.values, count);
  }
  EXPECT_LT(relative_error(found[0], found[1]), 1e-6);
  EXPECT_NE(found[0][0], 0);
}

TEST(CudaLossRows, ScalesAndRounds) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  std::mt19937 random(3);
  for (const Index count : {1, 3, 4, 1023, 1024, 4097}) {
    const Numbers x = normal(count, 1, ElementType::float32, random);
    for (const ElementType type : {ElementType::float32, ElementType::bfloat16, ElementType::float16}) {
      DeviceMemory memory;
      void* const out = memory.poisoned(static_cast<std::size_t>(count) * size_of(type));
      require(scale_and_round(static_cast<float*>(memory.numbers(ElementType::float32, x)),
                              static_cast<float*>(memory.numbers(ElementType::float32, {0.25})), type, out, count,
                              nullptr));
      require(cudaDeviceSynchronize());
      Numbers expected;
      for (const double v : x) expected.push_back(round_to(type, 0.25 * v));
      EXPECT_EQ(read_numbers(type, out, static_cast<std::size_t>(count)), expected);
    }
  }
}

}  // namespace
}  // namespace isentropic::cuda
