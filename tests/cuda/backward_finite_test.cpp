// Non-finite numbers in the backward pass on tensor cores: they reach whatever sees them and nothing else.
#include "cuda/backward_case.hpp"

namespace isentropic::cuda::backward_test {
namespace {

constexpr Index kLength = 150;

// Makes the row constants of rows [first, end) of a single head NaN.
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

// Rows [first, end) must be non-finite, the others unchanged.
void expect_broken(const Numbers& found, const Numbers& clean, Index first, Index end) {
  ASSERT_EQ(found.size(), clean.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Index row = static_cast<Index>(i) * kLength / std::ssize(found);
    const bool broken = row >= first && row < end;
    ASSERT_TRUE(broken ? !std::isfinite(found[i]) : found[i] == clean[i]) << "row " << row << ": " << found[i];
  }
}

// Calls test(trial, tile) for each tile, with a fixed order of additions.
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

// A row reaches only the keys it sees.
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

// A key reaches only the rows that see it. Rows precede and follow it in block order.
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
