// Adds up sampled rows, and chooses which to sample.
#include "scan/sampled_tally.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <unordered_map>

#include "scan/labels.hpp"

namespace isentropic::scan {

std::vector<std::int64_t> rows_to_sample(std::int64_t n, std::span<const std::int32_t> ids, std::int64_t count) {
  const std::int64_t first = std::min<std::int64_t>(8, n - 1);
  std::vector<std::int64_t> repeated;
  std::unordered_map<std::int32_t, std::int64_t> seen;  // token: where it occurred first
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

std::vector<std::int64_t> copy_targets(std::span<const std::int32_t> ids, std::int64_t position, KeyRange visible) {
  std::vector<std::int64_t> out;
  const std::int32_t token = ids[static_cast<std::size_t>(position)];
  for (std::int64_t j = std::max<std::int64_t>(0, visible.begin - 1); j < position - 1; ++j)
    if (ids[static_cast<std::size_t>(j)] == token) out.push_back(j + 1);
  return out;
}

const char* name(Kind kind) {
  constexpr const char* kNames[] = {"decoder", "encoder", "cross"};
  return kNames[static_cast<std::size_t>(kind)];
}

KeyRange visible_keys(const LayerDescription& layer, std::int64_t position, std::int64_t keys) {
  const std::int64_t window = layer.window.value_or(std::numeric_limits<std::int64_t>::max() / 2);
  if (layer.kind == Kind::cross) return {0, keys};
  const std::int64_t end = layer.kind == Kind::decoder ? position + 1 : position + window;
  return {std::max<std::int64_t>(0, position - window + 1), std::min(keys, end)};
}

LayerDescription self_attention_with(std::span<const std::int64_t> visible) {
  const auto n = std::ssize(visible);
  const auto is = [&](const LayerDescription& layer) {
    for (std::int64_t i = 0; i < n; ++i) {
      const KeyRange keys = visible_keys(layer, i, n);
      if (visible[static_cast<std::size_t>(i)] != keys.end - keys.begin) return false;
    }
    return true;
  };
  LayerDescription out;
  const auto fits = [&](Kind kind, std::optional<std::int64_t> window) {
    out.kind = kind, out.window = window;
    return is(out);
  };
  if (n == 0 || fits(Kind::decoder, {}) || fits(Kind::encoder, {})) return out;
  if (fits(Kind::decoder, std::ranges::max(visible)) || fits(Kind::encoder, visible.front())) return out;
  bool looks_back = true;  // a mask of another form
  for (std::int64_t i = 0; i < n; ++i) looks_back = looks_back && visible[static_cast<std::size_t>(i)] <= i + 1;
  out.kind = looks_back ? Kind::decoder : Kind::encoder;
  out.window.reset();
  return out;
}

std::int64_t rows_that_see(const LayerDescription& layer, std::int64_t key, std::int64_t rows) {
  const std::int64_t window = layer.window.value_or(rows);
  if (layer.kind == Kind::cross) return rows;
  const std::int64_t after = std::min(rows - key, window);
  return layer.kind == Kind::decoder ? after : after + std::min(key, window - 1);
}

double SampledTally::Mean::value() const { return count > 0 ? sum / static_cast<double>(count) : kNotMeasured; }

// The weight of the keys [begin, end) that the row sees.
double SampledRow::weight_of(std::int64_t begin, std::int64_t end) const {
  double sum = 0;
  for (std::int64_t j = std::max(begin, visible.begin); j < std::min(end, visible.end); ++j)
    sum += weights[static_cast<std::size_t>(j)];
  return sum;
}

void SampledTally::add(const SampledRow& row) {
  const auto weight = [&](std::int64_t key) -> double { return row.weights[static_cast<std::size_t>(key)]; };
  const std::int64_t i = row.position, farthest = std::max(i - row.visible.begin, row.visible.end - 1 - i);
  for (std::size_t bin = 0; farthest >= 0 && bin <= std::bit_width(static_cast<std::uint64_t>(farthest)); ++bin) {
    const std::int64_t nearest = bin == 0 ? 0 : std::int64_t{1} << (bin - 1), beyond = std::int64_t{1} << bin;
    if (profile_.size() <= bin) profile_.resize(bin + 1);
    profile_[bin] += row.weight_of(i - beyond + 1, i - nearest + 1);
    if (bin > 0) profile_[bin] += row.weight_of(i + nearest, i + beyond);
  }
  const double recent = row.weight_of(i - kRecentKeys + 1, i + 1);
  ++rows_;
  const std::int64_t visible = row.visible.end - row.visible.begin;
  if (i - 1 >= row.visible.begin && i - 1 < row.visible.end && visible > 1) previous_.add(weight(i - 1));
  if (visible >= kFewestKeysForLocal) local_.add(recent);
  if (row.targets.empty()) return;
  double copied = 0;
  for (const std::int64_t j : row.targets) copied += weight(j);
  const double chance = static_cast<double>(row.targets.size()) / static_cast<double>(visible);
  retrieval_.add((copied - chance) / (1 - chance));
}

double SampledTally::previous() const { return previous_.value(); }
double SampledTally::retrieval() const { return retrieval_.value(); }
double SampledTally::local() const { return local_.value(); }

std::vector<double> SampledTally::profile() const {
  std::vector<double> out = profile_;
  for (double& weight : out) weight /= static_cast<double>(rows_);
  return out;
}

void KeyWeights::add(const SampledRow& row) {
  sums_.resize(std::max(sums_.size(), row.weights.size()));
  rows_.resize(sums_.size());
  for (auto j = static_cast<std::size_t>(row.visible.begin); j < static_cast<std::size_t>(row.visible.end); ++j) {
    sums_[j] += row.weights[j];
    ++rows_[j];
  }
}

double KeyWeights::largest(std::int64_t fewest) const {
  double out = kNotMeasured;
  for (std::size_t j = 0; j < sums_.size(); ++j) {
    if (rows_[j] < fewest) continue;
    const double mean = sums_[j] / rows_[j];
    if (!(out >= mean)) out = mean;
  }
  return out;
}

}  // namespace isentropic::scan
