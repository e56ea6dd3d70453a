// Chooses rows, and finds the keys they could copy from.
#include "scan/sampling.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

namespace isentropic::scan {
namespace {

std::vector<std::int32_t> copy_targets(std::span<const std::int32_t> ids, const SampledPlace& place) {
  std::vector<std::int32_t> out;
  const std::int32_t token = ids[static_cast<std::size_t>(place.position)];
  for (std::int64_t j = std::max<std::int64_t>(0, place.begin - 1); j < place.position - 1; ++j)
    if (ids[static_cast<std::size_t>(j)] == token) out.push_back(static_cast<std::int32_t>(j + 1));
  return out;
}

// Coprime to k and near its golden section.
std::int64_t shuffle_step(std::int64_t k) {
  std::int64_t step = static_cast<std::int64_t>(0.6180339887498949 * static_cast<double>(k)) | 1;
  while (k > 1 && std::gcd(step, k) != 1) ++step;
  return step;
}

}  // namespace

std::vector<std::int64_t> rows_to_sample(std::int64_t n, std::span<const std::int32_t> ids, std::int64_t count) {
  const std::int64_t first = std::min<std::int64_t>(8, n - 1);
  std::vector<std::int64_t> repeated;
  std::unordered_map<std::int32_t, std::int64_t> seen;  // first occurrence of each token
  for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
    const auto [place, is_new] = seen.try_emplace(ids[static_cast<std::size_t>(i)], i);
    if (i >= first && !is_new && place->second < i - 1) repeated.push_back(i);
  }
  std::set<std::int64_t> out;
  const auto spread = [&](std::int64_t size, const auto& at) {
    const std::int64_t taken = std::min(count, size);
    for (std::int64_t i = 0; i < taken; ++i) out.insert(at(taken == 1 ? size - 1 : i * (size - 1) / (taken - 1)));
  };
  spread(n - first, [&](std::int64_t i) { return first + i; });
  spread(static_cast<std::int64_t>(repeated.size()),
         [&](std::int64_t i) { return repeated[static_cast<std::size_t>(i)]; });
  return {out.begin(), out.end()};
}

void Sampling::begin_window(std::span<const std::int32_t> ids, std::span<const std::int32_t> written) {
  ids_.assign(ids.begin(), ids.end());
  written_.assign(written.begin(), written.end());
  rows_.clear(), places_.clear();
  ++windows_;
}

std::span<const std::int32_t> Sampling::ids_of_rows(const LayerDescription& layer, std::int64_t rows) const {
  const auto& ids = reads(layer) ? ids_ : written_;
  return std::ssize(ids) == rows ? std::span(ids) : std::span<const std::int32_t>();
}

const std::vector<std::int64_t>& Sampling::rows_to_sample(const LayerDescription& layer, std::int64_t rows,
                                                          std::int64_t count) {
  const auto [place, is_new] = rows_.try_emplace({reads(layer), rows, count});
  if (is_new) place->second = scan::rows_to_sample(rows, ids_of_rows(layer, rows), count);
  return place->second;
}

const SampledPlaces& Sampling::places(const LayerDescription& layer, std::int64_t rows, std::int64_t keys,
                                      const std::vector<std::int64_t>& positions) {
  const auto [place, is_new] = places_.try_emplace({layer.kind, layer.window, rows, keys, positions});
  if (is_new) place->second = found_places(layer, rows, keys, positions);
  return place->second;
}

SampledPlaces Sampling::found_places(const LayerDescription& layer, std::int64_t rows, std::int64_t keys,
                                     const std::vector<std::int64_t>& positions) const {
  SampledPlaces out;
  const std::span<const std::int32_t> ids = ids_of_rows(layer, rows);
  const bool looks_at_itself = layer.kind != Kind::cross && std::ssize(ids) == keys;
  for (const std::int64_t position : positions) {
    const KeyRange visible = visible_keys(layer, position, keys);
    SampledPlace place{.position = position, .begin = visible.begin, .end = visible.end};
    place.step = shuffle_step(place.visible());
    place.first_target = std::ssize(out.targets);
    if (looks_at_itself) {
      const std::vector<std::int32_t> targets = copy_targets(ids, place);
      out.targets.insert(out.targets.end(), targets.begin(), targets.end());
      place.targets = std::ssize(targets);
    }
    out.rows.push_back(place);
  }
  return out;
}

}  // namespace isentropic::scan
