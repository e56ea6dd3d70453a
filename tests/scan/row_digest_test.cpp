// The digest of a row against explicit sums; the shuffled order of the keys; rows in one part or several.
#include "scan/row_digest.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "scan/planted.hpp"
#include "scan/sampling.hpp"

namespace isentropic::scan {
namespace {

std::vector<float> random_weights(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> out;
  for (std::int64_t j = 0; j < n; ++j) out.push_back(static_cast<float>(random() % 1000) / 1000);  // some are equal
  return out;
}

// Checks each number of RowDigest against its definition.
void expect_digest(const SampledPlaces& places, const SampledPlace& place, std::int64_t keys,
                   const DigestLayout& layout, std::uint64_t offset) {
  const std::vector<float> weights = random_weights(keys, static_cast<unsigned>(7 * place.position + keys));
  const SampledRow row{place, weights, places.targets_of(place), offset};
  std::vector<double> numbers(static_cast<std::size_t>(layout.size()), -7);
  digest_row(row, layout, numbers);
  const RowDigest digest(layout, numbers);
  const auto weight = [&](std::int64_t j) -> double { return weights[static_cast<std::size_t>(j)]; };
  const auto is_visible = [&](std::int64_t j) { return j >= place.begin && j < place.end; };

  std::vector<double> profile(static_cast<std::size_t>(layout.bins));
  RowEvidence seen, shuffled;
  for (std::int64_t j = place.begin; j < place.end; ++j) {
    std::size_t bin = 0;
    for (std::int64_t distance = std::abs(place.position - j); distance > 0; distance /= 2) ++bin;
    profile[bin] += weight(j);
    const double other = weight(shuffled_key(place, offset, j));
    if (j == place.position - 1) seen.previous = weight(j), shuffled.previous = other;
    if (j <= place.position && j > place.position - 16) seen.recent += weight(j), shuffled.recent += other;
    for (const std::int32_t target : row.targets)
      if (j == target) seen.copied += weight(j), shuffled.copied += other;
  }
  const auto expect_evidence = [](const RowEvidence& found, const RowEvidence& expected) {
    EXPECT_DOUBLE_EQ(found.previous, expected.previous);
    EXPECT_NEAR(found.recent, expected.recent, 1e-12);
    EXPECT_NEAR(found.copied, expected.copied, 1e-12);
  };
  expect_evidence(digest.evidence(), seen);
  for (std::size_t bin = 0; bin < profile.size(); ++bin) EXPECT_NEAR(digest.profile()[bin], profile[bin], 1e-10) << bin;
  if (!layout.is_drawn) return;
  expect_evidence(digest.shuffled(), shuffled);

  std::vector<double> blocks(digest.blocks().size()), columns(digest.columns().size());
  for (std::int64_t j = 0; j < keys; ++j) {
    const auto at = static_cast<std::size_t>(j), n = static_cast<std::size_t>(keys);
    blocks[at * blocks.size() / n] += weight(j), columns[at * columns.size() / n] += weight(j);
  }
  for (std::size_t s = 0; s < blocks.size(); ++s) EXPECT_NEAR(digest.blocks()[s], blocks[s], 1e-10);
  for (std::size_t s = 0; s < columns.size(); ++s) EXPECT_NEAR(digest.columns()[s], columns[s], 1e-10);

  std::vector<std::int64_t> order;
  for (std::int64_t j = 0; j < keys; ++j)
    if (is_visible(j)) order.push_back(j);
  std::ranges::stable_sort(order, std::ranges::greater(), weight);
  double rest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i >= kKeysOfRow) {
      rest += weight(order[i]);
      continue;
    }
    EXPECT_EQ(digest.heaviest_keys()[i], static_cast<double>(order[i])) << i;
    EXPECT_EQ(digest.heaviest_weights()[i], weight(order[i])) << i;
  }
  for (std::size_t i = order.size(); i < kKeysOfRow; ++i) EXPECT_EQ(digest.heaviest_keys()[i], -1);
  EXPECT_NEAR(digest.rest(), rest, 1e-10);
}

TEST(RowDigest, IsWhatItsDefinitionsSay) {
  for (const Kind kind : {Kind::decoder, Kind::encoder, Kind::cross})
    for (const std::optional<std::int64_t> window : {std::optional<std::int64_t>(), std::optional<std::int64_t>(33)})
      for (const std::int64_t n : {1, 2, 5, 17, 48, 100, 257, 1000}) {
        const LayerDescription layer{.module = "", .kind = kind, .heads = 1, .window = window};
        const std::int64_t keys = kind == Kind::cross ? n / 2 + 1 : n;
        const auto ids = some_ids(n);
        Sampling sampling;
        sampling.begin_text();
        for (const bool is_first : {true, false}) {
          sampling.begin_window(ids, {});
          EXPECT_EQ(sampling.is_first_window(), is_first);
          const std::vector<std::int64_t> rows = sampling.rows_to_sample(layer, n, 8);
          const SampledPlaces& places = sampling.places(layer, n, keys, rows);
          for (std::size_t r = 0; r < rows.size(); ++r) {
            SCOPED_TRACE(std::string(name(kind)) + ", n = " + std::to_string(n) + ", row " + std::to_string(rows[r]));
            expect_digest(places, places.rows[r], keys, sampling.layout(n, keys), shuffle_offset(3, 5, places.rows[r]));
          }
        }
      }
}

TEST(RowDigest, TheOtherOrderHasEveryKeyOnceAndPartsNeighbours) {
  const LayerDescription layer{.module = "", .heads = 1, .window = 600};
  Sampling sampling;
  sampling.begin_text();
  sampling.begin_window({}, {});
  std::vector<std::int64_t> rows(900);
  std::iota(rows.begin(), rows.end(), 0);
  for (const SampledPlace& place : sampling.places(layer, 900, 900, rows).rows) {
    const std::uint64_t offset = shuffle_offset(1, 2, place);
    std::set<std::int64_t> met;
    for (std::int64_t j = place.begin; j < place.end; ++j) met.insert(shuffled_key(place, offset, j));
    ASSERT_EQ(std::ssize(met), place.visible()) << place.position;
    ASSERT_EQ(*met.begin(), place.begin);
    ASSERT_EQ(*met.rbegin(), place.end - 1);
    if (place.visible() < 40) continue;
    const std::int64_t apart =
        std::abs(shuffled_key(place, offset, place.end - 1) - shuffled_key(place, offset, place.end - 2));
    ASSERT_GT(10 * std::min(apart, place.visible() - apart), place.visible()) << place.position;
  }
}

TEST(RowDigest, ShuffledKeysGiveTheirMeans) {
  const std::int64_t n = 50;
  const LayerDescription layer{.module = "", .heads = 1};
  Sampling sampling;
  sampling.begin_text();
  sampling.begin_window({}, {});
  KeyWeights keys;
  EXPECT_TRUE(std::isnan(keys.largest()));
  std::vector<double> sums(static_cast<std::size_t>(n)), counts(static_cast<std::size_t>(n));
  for (const SampledPlace& place : sampling.places(layer, n, n, {10, 20, 30, 40, 45}).rows) {
    const std::vector<float> weights = random_weights(n, static_cast<unsigned>(place.position));
    const std::uint64_t offset = shuffle_offset(0, 4, place);
    keys.add({place, weights, {}, offset});
    for (std::int64_t j = place.begin; j < place.end; ++j) {
      sums[static_cast<std::size_t>(j)] += weights[static_cast<std::size_t>(shuffled_key(place, offset, j))];
      ++counts[static_cast<std::size_t>(j)];
    }
  }
  double largest = 0;
  for (std::size_t j = 0; j < sums.size(); ++j)
    if (counts[j] >= 4) largest = std::max(largest, sums[j] / counts[j]);
  EXPECT_NEAR(keys.largest(), largest, 1e-6);
}

TEST(RowDigest, PartsAreAddedUp) {
  constexpr std::int64_t kRows = 256;
  const auto ids = some_ids(kRows);
  const std::vector<Weights> heads = {content_head(kRows, 1), sink_head(kRows, 0)};
  std::vector<std::string> found;
  for (const std::size_t at_once : {1000, 7}) {
    Scanner scanner({}, {{.module = "", .heads = 2, .head_width = 16}});
    scanner.begin_text("a");
    scanner.begin_window(ids);
    const std::vector<std::int64_t> all = scanner.rows_to_sample(0, kRows, 32);
    for (std::size_t i = 0; i < all.size(); i += at_once) {
      SampledRows sampled{.layer = 0, .rows = kRows, .keys = kRows};
      for (std::size_t r = i; r < std::min(all.size(), i + at_once); ++r) sampled.positions.push_back(all[r]);
      const std::vector<float> weights = weights_of(heads, sampled.positions);
      sampled.weights = weights, sampled.is_last = i + at_once >= all.size();
      scanner.add(sampled);
    }
    found.push_back(to_json(scanner.finish()));
  }
  EXPECT_EQ(found[0], found[1]);
}

}  // namespace
}  // namespace isentropic::scan
