// Few queries and many keys against the oracle: output and records, any number of parts, and what must not leak.
#include "attention/cuda/split.hpp"

#include "cuda/finished_rows.hpp"
#include "reference/forward.hpp"

namespace isentropic::cuda {
namespace {

// ---- Cases ----

using SplitChange = std::function<void(reference::Problem&, DeviceProblem&)>;

SplitChange first_then(SplitChange first, SplitChange second) {
  return [=](reference::Problem& oracle, DeviceProblem& device) { first(oracle, device), second(oracle, device); };
}

void causal_at_end(reference::Problem& oracle, DeviceProblem& device) {
  oracle.mask.causal = true, oracle.mask.align = reference::Align::end;
  device.problem.visible.right = 0, device.problem.visible.offset = oracle.n_k - oracle.n_q;
}

// Sets keys and values [begin, end) to NaN on the device only.
SplitChange nan_in(Index begin, Index end) {
  return [=](reference::Problem& oracle, DeviceProblem& device) {
    Problem& p = device.problem;
    const auto with_nan = [&](Numbers numbers, Index d) {
      for (std::size_t at = 0; at < numbers.size(); ++at) {
        const Index j = static_cast<Index>(at) / d % oracle.n_k;
        if (j >= begin && j < end) numbers[at] = NAN;
      }
      return device.memory.numbers(p.type, numbers);
    };
    p.key = with_nan(oracle.key, p.d), p.value = with_nan(oracle.value, p.d_v);
  };
}

SplitChange window_at_end(Index left, Index prefix) {
  return [=](reference::Problem& oracle, DeviceProblem& device) {
    causal_at_end(oracle, device);
    oracle.mask.has_window = true, oracle.mask.left = left, oracle.mask.prefix = prefix;
    device.problem.visible.left = left, device.problem.visible.prefix = prefix;
  };
}

// A cache contains garbage beyond its lengths.
void lengths_of_a_cache(reference::Problem& oracle, DeviceProblem& device) {
  nan_in(601, oracle.n_k)(oracle, device);
  oracle.mask.key_lengths = {601, 37};
  std::vector<RowSpans> spans;
  for (const int length : {601, 37})
    for (Index i = 0; i < oracle.n_q; ++i) spans.push_back({0, 0, 0, length});
  device.problem.visible.spans = device.memory.list(spans);
}

// Rows of one tile in three documents, the second without keys, each with a prefix and a window.
void documents_with_prefixes(reference::Problem& oracle, DeviceProblem& device) {
  const std::vector<int> queries = {0, 4, 6, 10}, keys = {3, 500, 500, 900};
  oracle.mask.documents = {{{0, 4, 6, 10}, {3, 500, 500, 900}}};
  oracle.mask.causal = true, oracle.mask.align = reference::Align::end;
  oracle.mask.has_window = true, oracle.mask.left = 150, oracle.mask.prefix = 5;
  std::vector<RowSpans> spans;
  std::vector<std::int32_t> positions;
  for (std::size_t t = 0; t + 1 < queries.size(); ++t)
    for (int i = queries[t]; i < queries[t + 1]; ++i) {
      const int begin = keys[t], end = keys[t + 1], position = end - (queries[t + 1] - i);
      const int prefix = std::min(begin + 5, end), band = std::max(prefix, position - 150 + 1);
      spans.push_back({begin, prefix, band, std::max(band, std::min(end, position + 1))});
      positions.push_back(position);
    }
  device.problem.visible.spans = device.memory.list(spans);
  device.problem.visible.positions = device.memory.list(positions);
  device.problem.visible.prefix_varies = true;
}

void row_scales_of_any_sign(reference::Problem& oracle, DeviceProblem& device) {
  oracle.scale.law = reference::Law::per_row;
  for (Index row = 0; row < oracle.batch * oracle.heads * oracle.n_q; ++row)
    oracle.scale.rows.push_back(
        round_to(ElementType::float32, row % 7 == 0 ? 0.0 : 0.05 * static_cast<double>(3 - row % 9)));
  device.problem.scales = device.reals(oracle.scale.rows);
}

void cap_slopes_and_sinks(reference::Problem& oracle, DeviceProblem& device) {
  causal_at_end(oracle, device);
  oracle.soft_cap = 2, oracle.bias.kind = reference::BiasKind::alibi;
  for (Index h = 0; h < oracle.heads; ++h) {
    oracle.bias.slopes.push_back(std::ldexp(1.0, -1 - static_cast<int>(h) * 2));
    oracle.sink.push_back(h == 0 ? 100.0 : 3.0 - static_cast<double>(h) * 4);
  }
  device.problem.soft_cap = 2;
  device.problem.slopes = device.reals(oracle.bias.slopes), device.problem.sink = device.reals(oracle.sink);
}

// The last key's value is infinite in one column: only the last query of each head sees it.
void infinity_at_the_end(reference::Problem& oracle, DeviceProblem& device) {
  causal_at_end(oracle, device);
  for (Index head = 0; head < oracle.batch * oracle.kv_heads; ++head)
    oracle.value[static_cast<std::size_t>(((head + 1) * oracle.n_k - 1) * oracle.d_v + 5)] = INFINITY;
  device.problem.value = device.memory.numbers(device.problem.type, oracle.value);
}

std::vector<Case> split_cases() {
  return {
      {"one key", {.n_q = 1, .n_k = 1}},
      {"seventeen keys", {.batch = 2, .n_q = 1, .n_k = 17}},
      {"one row", {.n_q = 1, .n_k = 777}},
      {"three rows", {.heads = 3, .kv_heads = 1, .n_q = 1, .n_k = 2047}},
      {"four rows", {.batch = 2, .heads = 8, .kv_heads = 2, .n_q = 1, .n_k = 1025}},
      {"sixteen rows", {.heads = 8, .kv_heads = 2, .n_q = 4, .n_k = 4999}, causal_at_end},
      {"forty rows", {.heads = 8, .kv_heads = 2, .n_q = 10, .n_k = 1333}, causal_at_end},
      {"rows without keys", {.n_q = 12, .n_k = 5}, causal_at_end},
      {"window", {.heads = 4, .kv_heads = 2, .n_q = 3, .n_k = 3001}, first_then(window_at_end(70, 0), nan_in(0, 2929))},
      {"prefix and window",
       {.heads = 4, .kv_heads = 2, .n_q = 3, .n_k = 3001},
       first_then(window_at_end(301, 21), nan_in(21, 2698))},
      {"wide prefix", {.n_q = 5, .n_k = 1500}, window_at_end(100, 1450)},
      {"key lengths", {.batch = 2, .heads = 4, .kv_heads = 2, .n_q = 2, .n_k = 2000}, lengths_of_a_cache},
      {"documents", {.heads = 2, .kv_heads = 1, .n_q = 10, .n_k = 1000}, documents_with_prefixes},
      {"scale of each row", {.heads = 6, .kv_heads = 2, .n_q = 5, .n_k = 1111}, row_scales_of_any_sign},
      {"cap slopes and sinks", {.heads = 4, .kv_heads = 2, .n_q = 3, .n_k = 1501}, cap_slopes_and_sinks},
      {"infinity at the end", {.heads = 4, .kv_heads = 2, .n_q = 3, .n_k = 1501}, infinity_at_the_end},
      {"large scores", {.heads = 4, .kv_heads = 2, .n_q = 1, .n_k = 3333}, [](auto&, auto&) {}, 100},
  };
}

// ---- Runs ----

FinishedRows read_split(const Problem& problem, const ForwardOutput& out) {
  FinishedRows found = read_rows(problem, out);
  found.k = read_list<std::int64_t>(out.rows.k, found.m.size());
  found.a = read_list<std::int64_t>(out.rows.a, found.m.size());
  return found;
}

FinishedRows run_split(const Problem& problem, DeviceMemory& memory) {
  ForwardOutput out = forward_output(problem, memory);
  if (!problem.value) out.output = nullptr;
  require(split_forward(problem, out, memory.poisoned(split_workspace(problem)), nullptr));
  return read_split(problem, out);
}

PartialRows poisoned_parts(const Problem& problem, std::int64_t parts, DeviceMemory& memory) {
  Problem all = problem;
  all.batch *= parts, all.type = real_type(problem.type);
  const ForwardOutput out = forward_output(all, memory);
  return {parts, out.rows, out.output};
}

FinishedRows run_in_parts(const Problem& problem, std::int64_t parts, DeviceMemory& memory) {
  const PartialRows partial = poisoned_parts(problem, parts, memory);
  const ForwardOutput out = forward_output(problem, memory);
  require(split_partials(problem, partial, nullptr));
  require(merge_parts(problem, partial, out, nullptr));
  return read_split(problem, out);
}

double split_tolerance(ElementType type) { return type == ElementType::bfloat16 ? 4e-3 : 6e-4; }

class CudaSplit : public testing::TestWithParam<Case> {};

TEST_P(CudaSplit, AgreesWithTheOracle) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  for (const ElementType type : {ElementType::bfloat16, ElementType::float16})
    for (const Index d : {64, 128}) {
      SCOPED_TRACE("d = " + std::to_string(d) + ", type " + std::to_string(static_cast<int>(type)));
      Case c = GetParam();
      c.sizes.d = d;
      reference::Problem oracle = oracle_of(c, type);
      DeviceMemory memory;
      DeviceProblem device{memory, on_device(oracle, type, memory)};
      device.problem.moments = MomentSet::all;
      c.change(oracle, device);
      ASSERT_EQ(has_split_forward(device.problem), oracle.n_k >= 256);
      const reference::Forward expected = reference::forward(oracle);
      const auto expect = [&](const FinishedRows& found) {
        EXPECT_LT(relative_error(found.output, expected.output), split_tolerance(type));
        expect_records(expected, found);
      };
      expect(run_split(device.problem, memory));
      for (const std::int64_t parts : {1, 7, 100}) {
        SCOPED_TRACE(std::to_string(parts) + " parts");
        expect(run_in_parts(device.problem, parts, memory));
      }
      device.problem.value = nullptr;
      expect_records(expected, run_split(device.problem, memory));
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaSplit, testing::ValuesIn(split_cases()), case_name);

struct SplitProblem {
  explicit SplitProblem(const Sizes& sizes) : oracle(oracle_of({"", sizes}, ElementType::bfloat16)) {
    problem = on_device(oracle, ElementType::bfloat16, memory);
    problem.moments = MomentSet::all;
  }
  reference::Problem oracle;
  DeviceMemory memory;
  Problem problem;
};

TEST(CudaSplit, RepeatsBitForBit) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  SplitProblem one({.heads = 8, .kv_heads = 2, .n_q = 3, .n_k = 20001});
  const FinishedRows first = run_split(one.problem, one.memory), second = run_split(one.problem, one.memory);
  EXPECT_EQ(first.output, second.output);
  EXPECT_EQ(first.z, second.z);
  EXPECT_EQ(first.w, second.w);
  EXPECT_EQ(first.a, second.a);
}

// Rows that see a NaN key are NaN, even if it is alone in its part; the others are unaffected.
TEST(CudaSplit, KeepsNaNInTheRowsThatSeeIt) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  SplitProblem one({.heads = 4, .kv_heads = 2, .n_q = 3, .n_k = 1505});
  DeviceProblem device{one.memory, one.problem};
  causal_at_end(one.oracle, device);
  const Numbers expected = reference::forward(one.oracle).output;
  nan_in(1504, 1505)(one.oracle, device);
  for (const std::int64_t parts : {1, 50}) {
    const FinishedRows found = run_in_parts(device.problem, parts, one.memory);
    for (std::size_t row = 0; row < found.z.size(); ++row) {
      const bool sees = row % 3 == 2;
      EXPECT_EQ(std::isnan(found.z[row]), sees) << row;
      const auto at = static_cast<std::ptrdiff_t>(row * 64);
      const Numbers part(found.output.begin() + at, found.output.begin() + at + 64);
      if (sees)
        EXPECT_TRUE(std::all_of(part.begin(), part.end(), [](double x) { return std::isnan(x); })) << row;
      else
        EXPECT_LT(relative_error(part, Numbers(expected.begin() + at, expected.begin() + at + 64)), 6e-3) << row;
    }
  }
}

// Rows of keys that are not contiguous, as in a cache of [batch, n, heads, d].
TEST(CudaSplit, ReadsStridedRows) {
  if (!has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  SplitProblem one({.batch = 2, .heads = 6, .kv_heads = 3, .n_q = 2, .n_k = 999});
  const reference::Problem& oracle = one.oracle;
  const auto by_row = [&](const Numbers& from) {
    Numbers to(from.size());
    for (std::size_t at = 0; at < from.size(); ++at) {
      const auto x = at % 64, j = at / 64 % 999, h = at / 64 / 999 % 3, b = at / 64 / 999 / 3;
      to[((b * 999 + j) * 3 + h) * 64 + x] = from[at];
    }
    return one.memory.numbers(ElementType::bfloat16, to);
  };
  one.problem.key = by_row(oracle.key), one.problem.value = by_row(oracle.value);
  one.problem.key_stride = one.problem.value_stride = {999 * 3 * 64, 64, 3 * 64};
  const FinishedRows found = run_split(one.problem, one.memory);
  const reference::Forward expected = reference::forward(oracle);
  EXPECT_LT(relative_error(found.output, expected.output), split_tolerance(ElementType::bfloat16));
  expect_records(expected, found);
}

// Needs no device: nothing is launched.
TEST(CudaSplit, TakesWhatItsKernelsTake) {
  const Problem fits = [] {
    Problem p;
    p.batch = 1, p.heads = 32, p.kv_heads = 8, p.n_q = 1, p.n_k = 4096, p.d = p.d_v = 64;
    p.query = p.key = p.value = reinterpret_cast<const void*>(std::uintptr_t{4096});
    p.query_stride = {32 * 64, 64, 64}, p.key_stride = p.value_stride = {8 * 4096 * 64, 4096 * 64, 64};
    return p;
  }();
  EXPECT_TRUE(has_split_forward(fits));
  PartialRows one_part;
  one_part.parts = 1;
  const auto without = [&](auto change) {
    Problem p = fits;
    change(p);
    return !has_split_forward(p) && split_partials(p, one_part, nullptr) == cudaErrorInvalidValue;
  };
  EXPECT_TRUE(without([](Problem& p) { p.type = ElementType::float32; }));
  EXPECT_TRUE(without([](Problem& p) { p.d = p.d_v = 80; }));
  EXPECT_TRUE(without([](Problem& p) { p.d_v = 128; }));
  EXPECT_TRUE(without([](Problem& p) { p.key_stride.row = 68; }));
  EXPECT_TRUE(without([](Problem& p) { p.value = static_cast<const char*>(p.value) + 8; }));
  EXPECT_TRUE(without([](Problem& p) { p.dropout = 0.1; }));
  EXPECT_TRUE(without([](Problem& p) { p.tests.excludes_self = true; }));
  EXPECT_TRUE(without([](Problem& p) { p.bias.data = p.key; }));
  EXPECT_TRUE(without([](Problem& p) { p.relative = p.key; }));
  Problem p = fits;
  p.query_stride.row = 1;  // irrelevant for a single row
  EXPECT_TRUE(has_split_forward(p));
  p.n_q = 17, p.query_stride.row = 64;  // 68 rows
  EXPECT_FALSE(has_split_forward(p));
}

}  // namespace
}  // namespace isentropic::cuda
