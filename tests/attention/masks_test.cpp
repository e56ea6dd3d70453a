// Every mask and combination of masks, against the oracle's predicate.
#include "sweep.hpp"

namespace attention_test {
namespace {

// The scale depends on n, so that a wrong count of visible keys shows in every result.
void sweep(const Sizes& sizes, Layout layout) {
  std::uint64_t seed = 100;
  for (const auto& masks : support::mask_combinations()) {
    check_forward({.sizes = sizes,
                   .parts = joined(masks, {support::log_n(), support::groups(2, 3)}),
                   .layout = layout,
                   .seed = ++seed});
  }
}

TEST(Masks, Small) { sweep(kSmall, Layout::contiguous); }
TEST(Masks, SmallInterleaved) { sweep(kSmall, Layout::interleaved); }
TEST(Masks, Square) { sweep(kSquare, Layout::contiguous); }
TEST(Masks, MoreQueriesThanKeys) { sweep(kMoreQueries, Layout::contiguous); }
TEST(Masks, OddLengths) { sweep(kOdd, Layout::interleaved); }

// Lengths around block edges, where a tile is cut, skipped or processed whole.
TEST(Masks, EveryLength) {
  const std::vector<std::vector<Part>> masks = {
      {support::unmasked()},         {support::causal()},
      {support::causal(Align::end)}, {support::causal(), support::window(5), support::prefix(2)},
      {support::window(9, 4)},       {support::dense_boolean()},
      {support::exclude_self()},     {support::exclude_keys(), support::exclude_self()}};
  std::uint64_t seed = 200;
  for (std::int64_t n_q : kLengths) {
    for (std::int64_t n_k : kLengths) {
      const std::int64_t d = kWidths[seed % kWidths.size()], d_v = kWidths[(seed / 5) % kWidths.size()];
      check_forward(
          {.sizes = {.n_q = n_q, .n_k = n_k, .d = d, .d_v = d_v}, .parts = masks[seed % masks.size()], .seed = seed});
      ++seed;
    }
  }
}

// Fully hidden and fully visible tiles, at sizes of several blocks.
TEST(Masks, ManyBlocks) {
  const Sizes sizes{.batch = 1, .heads = 2, .kv_heads = 1, .n_q = 300, .n_k = 420, .d = 5, .d_v = 4};
  const std::vector<std::vector<Part>> masks = {
      {support::causal(), support::window(70), support::prefix(3)},
      {support::causal(Align::end)},
      {support::block_sparse(64, 32)},
      {support::causal(Align::end), support::strided(37, 5)},
      {support::causal(), support::documents({0, 10, 150, 151, 300}, {0, 130, 131, 270, 420})},
      {support::segments(128)},
      {support::exclude_self()},
      {support::exclude_self(), support::window(90, 90)},
      {support::exclude_keys()},
      {support::exclude_keys(), support::exclude_self(), support::causal()},
      {support::causal(), support::key_lengths({257})}};
  std::uint64_t seed = 300;
  for (const auto& mask : masks) {
    check_forward({.sizes = sizes, .parts = joined(mask, {support::groups(4, 16)}), .seed = ++seed});
  }
}

// A few queries against a long cache: each row's keys are split between tasks and merged.
TEST(Masks, LongRows) {
  const std::vector<std::vector<Part>> settings = {
      {support::causal(Align::end), support::groups(4, 500), support::sink()},
      {support::window(3000), support::aligned_to_the_end(), support::log_n()},
      {support::key_lengths({9001}), support::gumbel(0.8)},
      {support::gumbel(0.5, isentropic::GumbelSample::straight_through)},
      {support::causal(Align::end), support::prefix(10), support::dense_boolean(), support::soft_cap(2)},
      {support::top_k(50)},
      {support::sparsemax()},
      {support::entmax(1.5)}};
  std::uint64_t seed = 350;
  for (const auto& parts : settings) {
    check_forward({.sizes = {.heads = 2, .kv_heads = 1, .n_q = 2, .n_k = 17001, .d = 3, .d_v = 2},
                   .parts = parts,
                   .amplitude = 1.5,
                   .seed = ++seed});
  }
}

TEST(Masks, AFloat32MaskOverFloat64Scores) {
  Case description{.sizes = kSmall, .seed = 5};
  Instance x = build(description);
  support::Numbers added = x.random.normals(2 * 4 * 7 * 9);
  for (std::size_t c = 0; c < added.size(); c += 3) added[c] = support::lowest(DType::float32);
  x.problem.mask = isentropic::Mask::none().dense(x.store(&added, {2, 4, 7, 9}, DType::float32));
  x.oracle.mask.dense_additive = added;
  x.oracle.lowest = support::lowest(DType::float32);
  expect_forward(x);
}

TEST(Masks, PartsAreRecordedAsGiven) {
  const isentropic::Mask mask = isentropic::Mask::causal(Align::end).window(7, 2).prefix(3).strided(4, 2).segments(9);
  EXPECT_TRUE(mask.is_causal);
  EXPECT_EQ(mask.align, Align::end);
  EXPECT_EQ(mask.window_part->left, 7);
  EXPECT_EQ(mask.window_part->right, 2);
  EXPECT_EQ(mask.prefix_keys, 3);
  EXPECT_EQ(mask.strided_part->stride, 4);
  EXPECT_EQ(mask.strided_part->local, 2);
  EXPECT_EQ(mask.segment_length, 9);
  EXPECT_FALSE(isentropic::Mask::none().is_causal);
  const isentropic::Mask packed = isentropic::Mask::none().documents({0, 3, 5});
  ASSERT_EQ(packed.document_offsets.size(), 1u);
  EXPECT_EQ(packed.document_offsets[0].query, (std::vector<std::int64_t>{0, 3, 5}));
  EXPECT_EQ(packed.document_offsets[0].key, (std::vector<std::int64_t>{0, 3, 5}));
}

}  // namespace
}  // namespace attention_test
