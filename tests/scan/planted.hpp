// Heads of known behaviour, as whole weight matrices, and what a model would report about them to a scan.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "scan/measurement.hpp"
#include "scan/scanner.hpp"

namespace isentropic::scan {

using Weights = std::vector<std::vector<double>>;  // row, key

// Tokens that each occur several times.
inline std::vector<std::int32_t> some_ids(std::int64_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<std::int32_t>(random() % 64));
  return out;
}

// Weights of row i over its keys 0 ... i, normalised.
inline Weights causal(std::int64_t n, const std::function<double(std::int64_t i, std::int64_t j)>& weight) {
  Weights out(static_cast<std::size_t>(n), std::vector<double>(static_cast<std::size_t>(n)));
  for (std::int64_t i = 0; i < n; ++i) {
    auto& row = out[static_cast<std::size_t>(i)];
    double sum = 0;
    for (std::int64_t j = 0; j <= i; ++j) sum += row[static_cast<std::size_t>(j)] = weight(i, j);
    for (double& x : row) x /= sum;
  }
  return out;
}

inline Weights uniform_head(std::int64_t n) {
  return causal(n, [](auto, auto) { return 1.0; });
}
inline Weights previous_head(std::int64_t n) {
  return causal(n, [](auto i, auto j) { return j == i - 1 ? 20.0 : 20.0 / (static_cast<double>(i) + 1); });
}
inline Weights sink_head(std::int64_t n, std::int64_t key) {
  return causal(n, [=](auto i, auto j) { return j == key ? static_cast<double>(i) + 1 : 1.0; });
}
inline Weights local_head(std::int64_t n) {
  return causal(n, [](auto i, auto j) { return std::exp(-static_cast<double>(i - j) / 6); });
}
inline Weights copy_head(const std::vector<std::int32_t>& ids) {
  return causal(static_cast<std::int64_t>(ids.size()), [&](auto i, auto j) {
    const auto at = [&](auto x) { return ids[static_cast<std::size_t>(x)]; };
    return j >= 1 && j < i && at(j - 1) == at(i) ? 100.0 : 1.0;
  });
}
// A random, peaked row: attends to content that differs from row to row.
inline Weights content_head(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  return causal(n, [&](auto, auto) { return std::exp(2.5 * normal(random)); });
}
// Attends to a single key, a different one in each row.
inline Weights one_key_head(std::int64_t n) {
  return causal(n, [](auto i, auto j) { return j == (i * 7919) % (i + 1) ? 1.0 : 1e-9; });
}

// The weights of the given rows, head by head.
inline std::vector<float> weights_of(const std::vector<Weights>& heads, const std::vector<std::int64_t>& positions) {
  std::vector<float> out;
  for (const Weights& head : heads)
    for (const std::int64_t position : positions)
      for (const double p : head[static_cast<std::size_t>(position)]) out.push_back(static_cast<float>(p));
  return out;
}

// Reports one layer with these heads over one window to a scanner; `ids` are the tokens of its rows.
inline void tell(Scanner& scanner, std::size_t layer, const std::vector<Weights>& heads,
                 const std::vector<std::int32_t>& ids) {
  const std::size_t n = ids.size(), keys = heads.front().front().size();
  const bool looks_back = scanner.layer(layer).kind == Kind::decoder;
  std::map<std::string, std::vector<float>> statistics;
  std::vector<std::int64_t> visible;
  std::vector<float> mass(heads.size() * keys);
  for (std::size_t h = 0; h < heads.size(); ++h)
    for (std::size_t i = 0; i < n; ++i) {
      const auto& row = heads[h][i];
      double entropy = 0, rest_entropy = 0, recent = 0;
      const std::size_t seen = looks_back ? i + 1 : keys;
      for (std::size_t j = 0; j < seen; ++j) {
        const double p = row[j], q = p / std::max(1e-300, 1 - row[0]);
        if (p > 0) entropy -= p * std::log(p);
        if (q > 0 && j > 0) rest_entropy -= q * std::log(q);
        if (j <= i && static_cast<std::int64_t>(i - j) < kRecentKeys) recent += p;
        mass[h * keys + j] += static_cast<float>(p);
      }
      statistics["entropy"].push_back(static_cast<float>(entropy));
      statistics["normalised_entropy"].push_back(static_cast<float>(seen > 1 ? entropy / std::log(seen) : 0));
      statistics["entropy_without_first"].push_back(static_cast<float>(rest_entropy));
      statistics["recent_mass"].push_back(static_cast<float>(recent));
      statistics["max_score"].push_back(3);
      visible.push_back(static_cast<std::int64_t>(seen));
    }
  const auto length = static_cast<std::int64_t>(n), width = static_cast<std::int64_t>(keys);
  LayerRows rows{.layer = layer, .rows = length, .keys = width};
  for (const auto& [name, values] : statistics) rows.statistics[name] = values;
  rows.visible = visible, rows.key_mass = mass;
  scanner.add(rows);
  SampledRows sampled{.layer = layer, .rows = length, .keys = width, .positions = rows_to_sample(length, ids, 32)};
  const std::vector<float> sampled_weights = weights_of(heads, sampled.positions);
  sampled.weights = sampled_weights;
  scanner.add(sampled);
  // Add the tile in parts of 20 rows.
  const std::vector<std::int64_t> all = scanner.rows_of_tile(length);
  for (std::size_t i = 0; i < all.size(); i += 20) {
    SampledRows tile{.layer = layer, .rows = length, .keys = width};
    for (std::size_t r = i; r < std::min(all.size(), i + 20); ++r) tile.positions.push_back(all[r]);
    const std::vector<float> tile_weights = weights_of(heads, tile.positions);
    tile.weights = tile_weights;
    scanner.add_tile(tile);
  }
}

}  // namespace isentropic::scan
