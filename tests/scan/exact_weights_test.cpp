// Tiles and rows contain exactly the weights that were reported, however they were split into parts.
#include "scan/exact_weights.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "scan/planted.hpp"
#include "scan/similarity.hpp"

namespace isentropic::scan {
namespace {

constexpr std::int64_t kTokens = 256;

TEST(ExactWeights, TheTileIsTheEndOfTheFirstWindow) {
  const auto ids = some_ids(kTokens);
  const std::vector<Weights> heads = {content_head(kTokens, 1), local_head(kTokens)};
  Scanner scanner({}, {{.module = "", .heads = 2, .head_width = 16}});
  scanner.begin_text("a");
  scanner.begin_window(ids);
  tell(scanner, 0, heads, ids);
  tell(scanner, 0, {heads[1], heads[0]}, ids);  // a layer that runs twice in the window
  scanner.begin_window(ids);
  EXPECT_TRUE(scanner.rows_of_tile(kTokens).empty());
  tell(scanner, 0, {heads[1], heads[0]}, ids);
  const Result found = scanner.finish();
  for (std::size_t h = 0; h < 2; ++h) {
    const Tile& tile = found.heads[h].tile;
    EXPECT_EQ(tile.first_row, kTokens - kTile);
    EXPECT_EQ(tile.first_key, kTokens - kTile);
    ASSERT_EQ(std::ssize(tile.weights), kTile);
    for (std::size_t r = 0; r < tile.weights.size(); ++r) {
      ASSERT_EQ(std::ssize(tile.weights[r]), kTile);
      for (std::size_t c = 0; c < tile.weights.size(); ++c)
        ASSERT_NEAR(tile.weights[r][c], heads[h][208 + r][208 + c], 1e-7) << r << " " << c;
    }
  }
}

TEST(ExactWeights, AShortWindowHasATileOfItsOwnSize) {
  EXPECT_EQ(rows_of_tile(3), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(rows_of_tile(100).front(), 52);
  EXPECT_EQ(std::ssize(rows_of_tile(100)), kTile);
  EXPECT_TRUE(rows_of_tile(0).empty());
  // Cross-attention rows that see more keys than there are rows.
  ExactWeights exact;
  std::vector<float> weights(2 * 60);
  std::iota(weights.begin(), weights.end(), 0.0f);
  exact.add_tile({.layer = 1, .rows = 2, .keys = 60, .positions = {0, 1}, .weights = weights});
  HeadResult head{.layer = 1};
  exact.describe(&head);
  ASSERT_EQ(head.tile.weights.size(), 2u);
  EXPECT_EQ(std::ssize(head.tile.weights[0]), kTile);
  EXPECT_EQ(head.tile.first_key, 12);
  const std::span<const float> last = std::span(weights).subspan(10, 50);
  exact.add_tile({.layer = 2, .rows = 1, .keys = 60, .positions = {0}, .weights = last, .first_key = 10});
  HeadResult last_keys{.layer = 2};
  exact.describe(&last_keys);
  ASSERT_EQ(last_keys.tile.weights.size(), 1u);
  EXPECT_EQ(last_keys.tile.weights[0], head.tile.weights[0]);
  HeadResult unknown{.layer = 3};
  exact.describe(&unknown);
  EXPECT_TRUE(unknown.tile.weights.empty());
}

TEST(ExactWeights, RowsHaveTheirHeaviestKeysAndTheRest) {
  const auto ids = some_ids(kTokens);
  const Weights head = content_head(kTokens, 2);
  Scanner scanner({}, {{.module = "", .heads = 1, .head_width = 16}});
  scanner.begin_text("a");
  scanner.begin_window(ids);
  tell(scanner, 0, {head}, ids);
  const Result found = scanner.finish();
  const auto& rows = found.heads[0].exact_rows;
  ASSERT_EQ(rows.size(), kExactRows);
  const auto sampled = rows_to_sample(kTokens, ids, 32);
  EXPECT_EQ(rows.front().position, sampled.front());
  EXPECT_EQ(rows.back().position, sampled.back());
  for (const ExactRow& row : rows) {
    const auto& weights = head[static_cast<std::size_t>(row.position)];
    ASSERT_EQ(row.keys.size(), std::min<std::size_t>(kKeysOfRow, static_cast<std::size_t>(row.position) + 1));
    double sum = row.rest;
    for (const KeyWeight& key : row.keys) {
      EXPECT_NEAR(key.weight, weights[static_cast<std::size_t>(key.position)], 1e-7);
      sum += key.weight;
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    const auto heavier = std::ranges::count_if(weights, [&](double w) { return w > row.keys.back().weight + 1e-7; });
    EXPECT_EQ(heavier, std::ssize(row.keys) - 1);
  }
}

TEST(Similarity, AMatrixForEachLayer) {
  const auto ids = some_ids(kTokens);
  const Weights content = content_head(kTokens, 3);
  Scanner scanner({}, {{.module = "", .heads = 3, .head_width = 16}, {.module = "", .heads = 1, .head_width = 16}});
  scanner.begin_text("a");
  scanner.begin_window(ids);
  tell(scanner, 0, {content, previous_head(kTokens), content}, ids);
  tell(scanner, 1, {local_head(kTokens)}, ids);
  const Result found = scanner.finish();
  const auto& similar = found.layers[0].similarities;
  ASSERT_EQ(similar.size(), 3u);
  EXPECT_NEAR(similar[0][2], 1, 1e-9);
  EXPECT_LT(similar[0][1], 0.6);
  for (std::size_t a = 0; a < 3; ++a) {
    EXPECT_EQ(similar[a][a], 1);
    for (std::size_t b = 0; b < 3; ++b) EXPECT_EQ(similar[a][b], similar[b][a]);
  }
  EXPECT_EQ(found.heads[0].nearest->similarity, similar[0][2]);
  EXPECT_TRUE(found.layers[1].similarities.empty());  // a single head
}

}  // namespace
}  // namespace isentropic::scan
