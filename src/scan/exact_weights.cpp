// Cuts the tile out, and finds heavy keys.
#include "scan/exact_weights.hpp"

#include <algorithm>
#include <numeric>

#include "scan/in_parallel.hpp"

namespace isentropic::scan {
namespace {

std::size_t given_keys(const SampledRows& sampled) {
  return static_cast<std::size_t>(sampled.keys - sampled.first_key);
}

std::span<const float> row_of(const SampledRows& sampled, std::size_t head, std::size_t row) {
  const std::size_t keys = given_keys(sampled);
  return sampled.weights.subspan((head * sampled.positions.size() + row) * keys, keys);
}

// In one pass over the row: the heaviest so far, in descending order.
ExactRow heaviest(std::int64_t position, KeyRange visible, std::span<const float> weights) {
  ExactRow out{.position = position};
  for (std::int64_t key = visible.begin; key < visible.end; ++key) {
    const double weight = weights[static_cast<std::size_t>(key)];
    const bool full = out.keys.size() == kKeysOfRow;
    if (full && !(weight > out.keys.back().weight)) {
      out.rest += weight;
      continue;
    }
    if (full) out.rest += out.keys.back().weight, out.keys.pop_back();
    const auto place = std::ranges::upper_bound(out.keys, weight, std::ranges::greater(), &KeyWeight::weight);
    out.keys.insert(place, {key, weight});
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> rows_of_tile(std::int64_t rows) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(std::min(kTile, rows)));
  std::iota(out.begin(), out.end(), rows - std::ssize(out));
  return out;
}

std::vector<ExactWeights::Head>& ExactWeights::heads_of(const SampledRows& sampled) {
  if (heads_.size() <= sampled.layer) heads_.resize(sampled.layer + 1);
  std::vector<Head>& out = heads_[sampled.layer];
  if (out.empty() && !sampled.positions.empty() && given_keys(sampled) > 0)
    out.resize(sampled.weights.size() / (sampled.positions.size() * given_keys(sampled)));
  return out;
}

void ExactWeights::add_tile(const SampledRows& sampled) {
  std::vector<Head>& heads = heads_of(sampled);
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

void ExactWeights::add_rows(const LayerDescription& layer, const SampledRows& sampled, Executor& executor) {
  std::vector<Head>& heads = heads_of(sampled);
  in_parallel(executor, heads.size(), [&](std::size_t h) {
    for (std::size_t r = 0; r < sampled.positions.size(); ++r) {
      const std::int64_t position = sampled.positions[r];
      if (!heads[h].rows.empty() && position <= heads[h].rows.back().position) continue;
      heads[h].rows.push_back(heaviest(position, visible_keys(layer, position, sampled.keys), row_of(sampled, h, r)));
    }
  });
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
