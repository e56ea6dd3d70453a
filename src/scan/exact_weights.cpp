// Cuts out the tile, and finds heavy keys.
#include "scan/exact_weights.hpp"

#include <algorithm>
#include <numeric>

namespace isentropic::scan {
namespace {

std::size_t given_keys(const SampledRows& sampled) {
  return static_cast<std::size_t>(sampled.keys - sampled.first_key);
}

std::span<const float> row_of(const SampledRows& sampled, std::size_t head, std::size_t row) {
  const std::size_t keys = given_keys(sampled);
  return sampled.weights.subspan((head * sampled.positions.size() + row) * keys, keys);
}

ExactRow exact_row(const SampledPlace& place, const RowDigest& digest) {
  ExactRow out{.position = place.position, .rest = digest.rest()};
  for (std::size_t i = 0; i < kKeysOfRow && digest.heaviest_keys()[i] >= 0; ++i)
    out.keys.push_back({static_cast<std::int64_t>(digest.heaviest_keys()[i]), digest.heaviest_weights()[i]});
  return out;
}

}  // namespace

std::vector<std::int64_t> rows_of_tile(std::int64_t rows) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(std::min(kTile, rows)));
  std::iota(out.begin(), out.end(), rows - std::ssize(out));
  return out;
}

std::vector<ExactWeights::Head>& ExactWeights::heads_of(std::size_t layer, std::size_t heads) {
  if (heads_.size() <= layer) heads_.resize(layer + 1);
  if (heads_[layer].empty()) heads_[layer].resize(heads);
  return heads_[layer];
}

void ExactWeights::add_tile(const SampledRows& sampled) {
  const std::size_t of_head = sampled.positions.size() * given_keys(sampled);
  if (of_head == 0) return;
  std::vector<Head>& heads = heads_of(sampled.layer, sampled.weights.size() / of_head);
  const std::int64_t first_key = std::max<std::int64_t>(0, sampled.keys - kTile);
  const auto skipped = static_cast<std::size_t>(first_key - sampled.first_key);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    Tile& tile = heads[h].tile;
    for (std::size_t r = 0; r < sampled.positions.size(); ++r) {
      if (tile.weights.empty()) tile.first_row = sampled.positions[r], tile.first_key = first_key;
      const bool follows = sampled.positions[r] == tile.first_row + std::ssize(tile.weights);
      if (!follows || tile.first_key != first_key || std::ssize(tile.weights) >= kTile) continue;
      const std::span<const float> weights = row_of(sampled, h, r).subspan(skipped);
      tile.weights.emplace_back(weights.begin(), weights.end());
    }
  }
}

void ExactWeights::add_rows(const SampledDigests& digests) {
  const auto size = static_cast<std::size_t>(digests.layout.size());
  if (digests.places.empty()) return;
  std::vector<Head>& heads = heads_of(digests.layer, digests.numbers.size() / (digests.places.size() * size));
  for (std::size_t h = 0; h < heads.size(); ++h)
    for (std::size_t r = 0; r < digests.places.size(); ++r) {
      const SampledPlace& place = digests.places[r];
      if (!heads[h].rows.empty() && place.position <= heads[h].rows.back().position) continue;
      const auto numbers = digests.numbers.subspan((h * digests.places.size() + r) * size, size);
      heads[h].rows.push_back(exact_row(place, {digests.layout, numbers}));
    }
}

void ExactWeights::describe(HeadResult* head) const {
  if (head->layer >= heads_.size() || head->head >= heads_[head->layer].size()) return;
  const Head& found = heads_[head->layer][head->head];
  head->tile = found.tile;
  const std::size_t count = std::min(kExactRows, found.rows.size());
  for (std::size_t i = 0; i < count; ++i)
    head->exact_rows.push_back(found.rows[count == 1 ? 0 : i * (found.rows.size() - 1) / (count - 1)]);
}

}  // namespace isentropic::scan
