// The backward pass on tensor cores against the oracle: gradients of inputs, scales and slopes.
#include "attention/cuda/backward.hpp"

#include <future>

#include "attention/cuda/launch_backward.hpp"
#include "cuda/device_case.hpp"
#include "cuda/plain_case.hpp"
#include "reference/forward.hpp"
#include "reference/gradients.hpp"
#include "reference/mask.hpp"

namespace isentropic::cuda::backward_test {
namespace {

constexpr ElementType kTypes[] = {ElementType::bfloat16, ElementType::float16};

// Which statistics have upstream gradients, besides L and H; whether the output has.
struct UpstreamSet {
  bool output = true, higher = false;
};

reference::Upstream upstream_of(const reference::Problem& oracle, const UpstreamSet& set, ElementType type) {
  std::mt19937 random(11);
  const Index rows = oracle.batch * oracle.heads * oracle.n_q;
  reference::Upstream out;
  if (set.output) out.output = normal(rows * oracle.d_v, 1, type, random);
  out.log_partition = normal(rows, 1, ElementType::float32, random);
  out.entropy = normal(rows, 1, ElementType::float32, random);
  if (set.higher) {
    out.score_variance = normal(rows, 0.3, ElementType::float32, random);
    out.collision = normal(rows, 2, ElementType::float32, random);
  }
  return out;
}

// What the kernels are given of every row, from the oracle's forward pass; formulas in passes/row_constants.cpp.
struct HostRows {
  Numbers m, log_z, mean, gate, base, a1, a2, a3;
};

HostRows host_rows(const reference::Problem& oracle, const reference::Upstream& upstream) {
  const reference::Forward forward = reference::forward(oracle);
  const auto of = [&](const char* name, std::size_t row) { return forward.statistics.at(name)[row]; };
  const auto at = [](const Numbers& numbers, std::size_t row) { return numbers.empty() ? 0.0 : numbers[row]; };
  HostRows out;
  for (std::size_t row = 0; row < forward.visible.size(); ++row) {
    const bool empty = forward.visible[row] == 0;
    const double m = of("max_score", row), log_z = empty ? 0 : -std::log(of("peak", row));
    double product = 0;
    for (Index t = 0; t < oracle.d_v; ++t) {
      const std::size_t place = row * static_cast<std::size_t>(oracle.d_v) + static_cast<std::size_t>(t);
      product += at(upstream.output, place) * forward.output[place];
    }
    const double gL = at(upstream.log_partition, row), gH = at(upstream.entropy, row);
    const double gV = at(upstream.score_variance, row), gC = at(upstream.collision, row);
    const double gate = empty ? 0 : std::exp(m + log_z - of("log_partition", row));
    out.m.push_back(m);
    out.log_z.push_back(log_z);
    out.mean.push_back(empty ? 0 : of("mean_score", row) - m);
    out.gate.push_back(gate);
    out.base.push_back(gate * (gL - product) - gV * of("score_variance", row) - 2 * gC * of("collision", row));
    out.a1.push_back(2 * gV - gH);
    out.a2.push_back(gV);
    out.a3.push_back(2 * gC);
  }
  return out;
}

BackwardProblem backward_problem(const DeviceProblem& device, const HostRows& rows,
                                 const reference::Upstream& upstream) {
  BackwardProblem out;
  const Problem& p = out.problem = device.problem;
  out.rows = {device.reals(rows.m),
              device.reals(rows.log_z),
              device.reals(rows.mean),
              device.reals(rows.gate),
              device.reals(rows.base),
              device.reals(rows.a1),
              nullptr,
              nullptr};
  if (!upstream.score_variance.empty()) out.rows.a2 = device.reals(rows.a2), out.rows.a3 = device.reals(rows.a3);
  if (!upstream.output.empty()) out.output_gradient = device.memory.numbers(p.type, upstream.output);
  out.output_gradient_stride = {p.heads * p.n_q * p.d_v, p.n_q * p.d_v, p.d_v};
  Gradients& to = out.gradients;
  const auto poisoned = [&](Index numbers, std::size_t size) {
    return device.memory.poisoned(static_cast<std::size_t>(numbers) * size);
  };
  to.query = poisoned(p.rows() * p.d, 2);
  to.key = poisoned(p.batch * p.kv_heads * p.n_k * p.d, 2);
  to.value = poisoned(p.batch * p.kv_heads * p.n_k * p.d_v, 2);
  to.lambda = poisoned(p.rows(), 4);
  to.query_stride = p.query_stride, to.key_stride = p.key_stride, to.value_stride = p.value_stride;
  if (p.slopes) to.slopes = poisoned(p.heads, 4);
  return out;
}

struct Found {
  Numbers query, key, value, lambda, slopes;
};

Found run(BackwardProblem in, BackwardTile tile, DeviceMemory& memory) {
  in.workspace = memory.poisoned(backward_workspace(in, tile));
  require(backward(in, tile, nullptr));
  require(cudaDeviceSynchronize());
  const Problem& p = in.problem;
  const auto read = [&](ElementType type, const void* data, Index count) {
    return data ? read_numbers(type, data, static_cast<std::size_t>(count)) : Numbers();
  };
  return {read(p.type, in.gradients.query, p.rows() * p.d),
          read(p.type, in.gradients.key, p.batch * p.kv_heads * p.n_k * p.d),
          read(p.type, in.gradients.value, p.batch * p.kv_heads * p.n_k * p.d_v),
          read(ElementType::float32, in.gradients.lambda, p.rows()),
          read(ElementType::float32, in.gradients.slopes, p.heads)};
}

// d loss / d slope_h = -sum of the gradients of a head's scores, each times its distance.
Numbers slope_gradients(const reference::Problem& oracle, const reference::DenseGradients& gradients) {
  Numbers out(static_cast<std::size_t>(oracle.heads), 0);
  for (Index b = 0; b < oracle.batch; ++b)
    for (Index h = 0; h < oracle.heads; ++h)
      for (Index i = 0; i < oracle.n_q; ++i)
        for (Index j = 0; j < oracle.n_k; ++j)
          out[static_cast<std::size_t>(h)] -= gradients.score[static_cast<std::size_t>(oracle.cell(b, h, i, j))] *
                                              static_cast<double>(std::abs(reference::distance(oracle, b, i, j)));
  return out;
}

// With u the unit roundoff of a type (2^-8, 2^-11): weights or score gradients are rounded once, scales of rows and
// their products with these too, and so is the result. Each rounding is off by 0.4 u in the root mean square, so that a
// gradient whose terms do not cancel is off by 0.8 u; 2 u are allowed. Score gradients cancel in their sum over keys,
// but not in sums with keys or queries that are independent. That leaves the rounding of float32, which scores of some
// hundreds spread to 1e-4 of a weight. Slopes see no rounded number.
double backward_tolerance(ElementType type) { return type == ElementType::bfloat16 ? 2 * 0x1p-8 : 2 * 0x1p-11; }

void expect_gradients(const Found& found, const reference::Problem& oracle, const reference::DenseGradients& expected,
                      ElementType type) {
  EXPECT_LT(relative_error(found.query, expected.query), backward_tolerance(type));
  EXPECT_LT(relative_error(found.key, expected.key), backward_tolerance(type));
  EXPECT_LT(relative_error(found.value, expected.value), backward_tolerance(type));
  EXPECT_LT(relative_error(found.lambda, expected.lambda), backward_tolerance(type));
  if (found.slopes.empty()) return;
  EXPECT_LT(relative_error(found.slopes, slope_gradients(oracle, expected)), 1e-3);
}

// A case as the oracle and as the device see it.
struct Trial {
  Trial(const Case& c, ElementType type, const UpstreamSet& set)
      : oracle(oracle_of(c, type)), device{memory, on_device(oracle, type, memory)} {
    c.change(oracle, device);
    upstream = upstream_of(oracle, set, type);
    problem = backward_problem(device, host_rows(oracle, upstream), upstream);
  }

  reference::DenseGradients expected() const { return reference::dense_gradients(oracle, upstream); }

  DeviceMemory memory;
  reference::Problem oracle;
  DeviceProblem device;
  reference::Upstream upstream;
  BackwardProblem problem;
};

class CudaBackward : public testing::TestWithParam<Case> {};

struct Widths {
  Index d, d_v;
};

// Gradients of the case by each of the tiles, added up in any order and in a fixed one.
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

// Whether the device has shared memory for heads of 256 numbers.
bool has_room_for_wide_heads() {
  int bytes = 0;
  return has_device() && cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) == cudaSuccess &&
         bytes >= 220000;
}

// Heads that fill their kernel, and some that do not.
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

Case causal_of_sizes(Sizes sizes) {
  return {"causal", sizes, [](reference::Problem& oracle, DeviceProblem& device) {
            oracle.mask.causal = true;
            device.problem.visible.right = 0;
          }};
}

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

// A value that is NaN, seen by the last row alone: other rows have dP = NaN where their weight is 0.
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

// Documents with a prefix of their own: no block of keys can tell from one row which rows see it.
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

// Keys and values beyond the length of every row hold NaN.
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

// ---- What is not finite ----

constexpr Index kLength = 150;

// One head whose rows from `first` on, and before `end`, know no scores that are finite.
void break_rows(Trial& trial, std::size_t first, std::size_t end) {
  HostRows rows = host_rows(trial.oracle, trial.upstream);
  for (Numbers* array : {&rows.m, &rows.log_z, &rows.mean, &rows.gate, &rows.base})
    std::fill(array->begin() + static_cast<std::ptrdiff_t>(first), array->begin() + static_cast<std::ptrdiff_t>(end),
              NAN);
  RowConstantArrays& to = trial.problem.rows;
  const DeviceProblem& device = trial.device;
  to.max_score = device.reals(rows.m), to.log_partition = device.reals(rows.log_z);
  to.mean_score = device.reals(rows.mean), to.gate = device.reals(rows.gate), to.base = device.reals(rows.base);
}

// `numbers` with rows [first, end) filled with x.
const void* filled(Trial& trial, Numbers numbers, Index first, Index end, double x) {
  const Index width = std::ssize(numbers) / kLength;
  std::fill(numbers.begin() + first * width, numbers.begin() + end * width, x);
  return trial.memory.numbers(trial.problem.problem.type, numbers);
}

// Rows [first, end) are not finite, the others as they were.
void expect_broken(const Numbers& found, const Numbers& clean, Index first, Index end) {
  ASSERT_EQ(found.size(), clean.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Index row = static_cast<Index>(i) * kLength / std::ssize(found);
    const bool broken = row >= first && row < end;
    ASSERT_TRUE(broken ? !std::isfinite(found[i]) : found[i] == clean[i]) << "row " << row << ": " << found[i];
  }
}

// test(trial, tile) for each tile, in a fixed order of additions.
void with_each_tile(const Case& given, const std::function<void(Trial&, BackwardTile)>& test) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type : kTypes)
    for (const BackwardTile tile : {BackwardTile::large, BackwardTile::small, BackwardTile::wide}) {
      if (tile == BackwardTile::wide && !has_room_for_wide_heads()) continue;
      SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)) + ", tile " +
                   std::to_string(static_cast<int>(tile)));
      Case c = given;
      if (tile == BackwardTile::wide) c.sizes.d = 192, c.sizes.d_v = 128;
      Trial trial(c, type, {});
      trial.problem.deterministic = true;
      test(trial, tile);
    }
}

Case causal_of_one_head() { return causal_of_sizes({.heads = 1, .kv_heads = 1, .n_q = kLength, .n_k = kLength}); }

// A row reaches the keys that it sees and no others.
TEST(CudaBackward, NanOfARowStaysWithItsKeys) {
  const Index row = 70;
  const auto expect_contained = [&](const Found& found, const Found& clean) {
    expect_broken(found.query, clean.query, row, row + 1);
    expect_broken(found.key, clean.key, 0, row + 1);
    expect_broken(found.value, clean.value, 0, row + 1);
  };
  with_each_tile(causal_of_one_head(), [&](Trial& trial, BackwardTile tile) {
    const Found clean = run(trial.problem, tile, trial.memory);
    for (const double x : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
      const RowConstantArrays rows = trial.problem.rows;
      const void *query = trial.problem.problem.query, *output_gradient = trial.problem.output_gradient;
      break_rows(trial, row, row + 1);
      trial.problem.problem.query = filled(trial, trial.oracle.query, row, row + 1, x);
      expect_contained(run(trial.problem, tile, trial.memory), clean);
      trial.problem.problem.query = query, trial.problem.rows = rows;
      HostRows broken = host_rows(trial.oracle, trial.upstream);
      broken.base[row] = NAN;
      trial.problem.rows.base = trial.device.reals(broken.base);
      trial.problem.output_gradient = filled(trial, trial.upstream.output, row, row + 1, x);
      expect_contained(run(trial.problem, tile, trial.memory), clean);
      trial.problem.output_gradient = output_gradient, trial.problem.rows = rows;
    }
  });
}

TEST(CudaBackward, NanOfAScaleStaysWithItsKeys) {
  const Index row = 70;
  Case c = causal_of_one_head();
  c.change = [causal = c.change](reference::Problem& oracle, DeviceProblem& device) {
    causal(oracle, device);
    oracle.scale.law = reference::Law::per_row;
    oracle.scale.rows.assign(kLength, 0.125);
    device.problem.scales = device.reals(oracle.scale.rows);
  };
  with_each_tile(c, [&](Trial& trial, BackwardTile tile) {
    const Found clean = run(trial.problem, tile, trial.memory);
    break_rows(trial, row, row + 1);
    Numbers scales = trial.oracle.scale.rows;
    scales[row] = NAN;
    trial.problem.problem.scales = trial.device.reals(scales);
    const Found found = run(trial.problem, tile, trial.memory);
    expect_broken(found.query, clean.query, row, row + 1);
    expect_broken(found.key, clean.key, 0, row + 1);
  });
}

// A key reaches the rows that see it and no others. They come before and after it in the order of blocks.
TEST(CudaBackward, NanOfAKeyStaysWithItsRows) {
  const Index key = 100;
  with_each_tile(causal_of_one_head(), [&](Trial& trial, BackwardTile tile) {
    const Found clean = run(trial.problem, tile, trial.memory);
    break_rows(trial, key, kLength);
    trial.problem.problem.key = filled(trial, trial.oracle.key, key, key + 1, NAN);
    trial.problem.problem.value = filled(trial, trial.oracle.value, key, key + 1, INFINITY);
    const Found found = run(trial.problem, tile, trial.memory);
    expect_broken(found.query, clean.query, key, kLength);
    expect_broken(found.key, clean.key, 0, kLength);
    expect_broken(found.value, clean.value, 0, kLength);
  });
}

// Keys 40 to 59 lie between two documents.
TEST(CudaBackward, KeysBetweenDocumentsDoNotLeak) {
  Case c = {"gap", {.heads = 1, .kv_heads = 1, .n_q = kLength, .n_k = kLength}};
  c.change = [](reference::Problem& oracle, DeviceProblem& device) {
    oracle.mask.documents = {{{0, 70, 70, kLength}, {0, 40, 60, kLength}}};
    std::vector<RowSpans> spans;
    for (Index i = 0; i < kLength; ++i) spans.push_back(i < 70 ? RowSpans{0, 0, 0, 40} : RowSpans{60, 60, 60, kLength});
    device.problem.visible.spans = device.memory.list(spans);
  };
  with_each_tile(c, [&](Trial& trial, BackwardTile tile) {
    const Found clean = run(trial.problem, tile, trial.memory);
    trial.problem.problem.key = filled(trial, trial.oracle.key, 40, 60, NAN);
    trial.problem.problem.value = filled(trial, trial.oracle.value, 40, 60, INFINITY);
    const Found found = run(trial.problem, tile, trial.memory);
    EXPECT_EQ(found.query, clean.query);
    EXPECT_EQ(found.key, clean.key);
    EXPECT_EQ(found.value, clean.value);
    const Index d = trial.oracle.d;
    for (Index i = 40 * d; i < 60 * d; ++i) ASSERT_EQ(found.key[static_cast<std::size_t>(i)], 0);
    expect_gradients(found, trial.oracle, trial.expected(), trial.problem.problem.type);
  });
}

// Key 5 is masked for all rows, key 9 for the first 50.
TEST(CudaBackward, MaskedKeysDoNotLeak) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  Case c = {"masked", {.heads = 1, .kv_heads = 1, .n_q = kLength, .n_k = kLength}};
  c.change = [](reference::Problem& oracle, DeviceProblem& device) {
    for (Index i = 0; i < kLength; ++i)
      for (Index j = 0; j < kLength; ++j) oracle.mask.dense_boolean.push_back(j != 5 && (j != 9 || i >= 50));
    device.problem.tests.mask.data = device.memory.list(oracle.mask.dense_boolean);
    device.problem.tests.mask.type = ElementType::boolean;
    device.problem.tests.mask.stride[2] = kLength, device.problem.tests.mask.stride[3] = 1;
  };
  for (const ElementType type : kTypes) {
    Trial trial(c, type, {});
    trial.problem.deterministic = true;
    const Found clean = run(trial.problem, BackwardTile::small, trial.memory);
    expect_gradients(clean, trial.oracle, trial.expected(), type);
    Numbers key = trial.oracle.key;
    const Index d = trial.oracle.d;
    std::fill_n(key.begin() + 5 * d, d, NAN);
    trial.problem.problem.key = trial.memory.numbers(type, key);
    const Found hidden = run(trial.problem, BackwardTile::small, trial.memory);
    EXPECT_EQ(hidden.query, clean.query);
    EXPECT_EQ(hidden.key, clean.key);
    EXPECT_EQ(hidden.value, clean.value);
    std::fill_n(key.begin() + 9 * d, d, NAN);
    trial.problem.problem.key = trial.memory.numbers(type, key);
    break_rows(trial, 50, kLength);
    expect_broken(run(trial.problem, BackwardTile::small, trial.memory).query, clean.query, 50, kLength);
  }
}

}  // namespace
}  // namespace isentropic::cuda::backward_test
