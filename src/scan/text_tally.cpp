// Accumulates statistics, key mass and sampled rows, head by head.
#include "scan/text_tally.hpp"

#include <algorithm>
#include <cmath>

#include "scan/in_parallel.hpp"
#include "scan/stretches.hpp"

namespace isentropic::scan {
namespace {

std::size_t size(std::int64_t x) { return static_cast<std::size_t>(x); }

bool is_heavier(const HeavyKey& a, const HeavyKey& b) { return a.weight > b.weight; }

}  // namespace

void Running::add(double value, double weight) {
  weight_ += weight;
  sum_ += weight * value;
  squares_ += weight * value * value;
}
double Running::mean() const { return weight_ > 0 ? sum_ / weight_ : kNotMeasured; }
double Running::deviation() const {
  return weight_ > 0 ? std::sqrt(std::max(0.0, squares_ / weight_ - mean() * mean())) : kNotMeasured;
}

TextTally::TextTally(const std::vector<LayerDescription>& layers) : layers_(layers) { grow(); }

void TextTally::grow() {
  for (std::size_t layer = heads.size(); layer < layers_.size(); ++layer)
    heads.emplace_back(size(layers_[layer].heads));
  residuals.resize(layers_.size());
  extents.resize(layers_.size());
}

void TextTally::begin_window(std::int64_t tokens_of_window) {
  has_tokens_ = tokens_of_window > 0;
  ++windows;
  tokens += tokens_of_window;
}

void TextTally::add_statistics(const LayerRows& rows, std::size_t head) {
  HeadTally& out = heads[rows.layer][head];
  const std::size_t begin = head * size(rows.rows);
  const auto visible = rows.visible.subspan(begin, size(rows.rows));
  for (const auto& [name, all] : rows.statistics) {
    const auto values = all.subspan(begin, size(rows.rows));
    const bool is_score = name == "max_score", is_recent = name == "recent_mass";
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (visible[i] < 2) continue;  // such a row has no choice
      sum += values[i], ++count;
      if (is_score && !(out.largest_score >= values[i])) out.largest_score = values[i];
      if (is_recent && visible[i] >= kFewestKeysForLocal) out.local.add(values[i]);
    }
    out.statistics[name].add(count > 0 ? sum / count : kNotMeasured);
    if (name == "entropy" && windows == 1) out.curve = stretch_means(values, kCurvePoints);
  }
}

void TextTally::add_key_mass(const LayerRows& rows, std::size_t head) {
  HeadTally& out = heads[rows.layer][head];
  const auto mass = rows.key_mass.subspan(head * size(rows.keys), size(rows.keys));
  std::vector<HeavyKey> keys;
  std::vector<float> means(mass.size());
  for (std::int64_t j = 0; j < rows.keys; ++j) {
    const std::int64_t seen = rows_that_see(layers_[rows.layer], j, rows.rows);
    means[size(j)] = seen > 0 ? mass[size(j)] / static_cast<float>(seen) : 0;
    if (4 * seen >= rows.rows) keys.push_back({j, means[size(j)]});
  }
  const std::size_t kept = std::min(kHeavyKeys, keys.size());
  std::ranges::partial_sort(keys, keys.begin() + static_cast<std::ptrdiff_t>(kept), is_heavier);
  keys.resize(kept);
  if (!keys.empty()) out.sinks.push_back(keys.front());
  if (windows > 1) return;
  out.heavy_keys = keys;
  if (!has_tokens_) out.patches = means;
  const std::size_t points = std::min(kCurvePoints, means.size());
  out.key_strip.assign(points, 0);
  for (std::size_t j = 0; j < means.size(); ++j) {
    double& point = out.key_strip[j * points / means.size()];
    point = std::max<double>(point, means[j]);
  }
}

void TextTally::add(const LayerRows& rows, Executor& executor) {
  if (!has_tokens_ && rows.layer == 0) tokens += rows.rows;  // patches of an image
  if (windows == 1) extents[rows.layer] = {rows.rows, rows.keys};
  in_parallel(executor, heads[rows.layer].size(), [&](std::size_t head) {
    add_statistics(rows, head);
    if (!rows.key_mass.empty()) add_key_mass(rows, head);
  });
}

void TextTally::add_to_blocks(const SampledPlace& place, const RowDigest& digest, std::int64_t all_rows,
                              HeadTally* head) {
  const std::span<const double> weights = digest.blocks();
  const std::size_t rows = std::min(kBlocks, size(all_rows));
  if (head->blocks.empty()) {
    head->blocks.assign(rows, std::vector<double>(weights.size()));
    head->block_rows.assign(rows, 0);
  }
  const std::size_t block = size(place.position) * rows / size(all_rows);
  for (std::size_t j = 0; j < weights.size(); ++j) head->blocks[block][j] += weights[j];
  ++head->block_rows[block];
}

void TextTally::keep_for_comparison(const RowDigest& digest, HeadTally* head) {
  constexpr Pooling kept;
  const std::span<const double> columns = digest.columns();
  if (head->sampled_columns == 0) head->sampled_columns = columns.size();
  if (head->sampled_columns != columns.size()) return;  // the layer ran again with other keys
  if (head->sampled_rows.size() >= kept.rows * head->sampled_columns) return;
  for (const double weight : columns) head->sampled_rows.push_back(static_cast<float>(weight));
}

void TextTally::add(const SampledDigests& digests, Executor& executor) {
  const std::size_t rows = digests.places.size(), numbers = size(digests.layout.size());
  in_parallel(executor, heads[digests.layer].size(), [&](std::size_t head) {
    HeadTally& out = heads[digests.layer][head];
    for (std::size_t r = 0; r < rows; ++r) {
      const SampledPlace& place = digests.places[r];
      const RowDigest digest(digests.layout, digests.numbers.subspan((head * rows + r) * numbers, numbers));
      out.sampled.add(place, digest.evidence());
      out.sampled.add_profile(place, digest.profile());
      if (!digests.layout.is_drawn) continue;
      out.shuffled.add(place, digest.shuffled());
      add_to_blocks(place, digest, digests.rows, &out);
      keep_for_comparison(digest, &out);
    }
    if (!digests.shuffled_sinks.empty()) out.shuffled_sink = digests.shuffled_sinks[head];
  });
}

Evidence TextTally::evidence(std::size_t layer, std::size_t head) const {
  const HeadTally& tally = heads[layer][head];
  const auto mean = [&](const char* name) {
    const auto found = tally.statistics.find(name);
    return found == tally.statistics.end() ? kNotMeasured : found->second.mean();
  };
  Evidence out;
  out.retrieval = tally.sampled.retrieval();
  if (layers_[layer].kind != Kind::cross) {  // distances between positions of two texts mean nothing
    out.previous = tally.sampled.previous();
    out.local = tally.local.mean();
  }
  out.normalised_entropy = mean("normalised_entropy");
  out.entropy_without_first = mean("entropy_without_first");
  out.largest_score = tally.largest_score;
  if (tally.sinks.empty()) return out;
  Running weights;
  std::map<std::int64_t, std::size_t> places;
  for (const HeavyKey& key : tally.sinks) weights.add(key.weight), ++places[key.position];
  out.sink = weights.mean();
  const auto usual = std::ranges::max_element(places, {}, [](const auto& place) { return place.second; });
  const bool is_one_key = 2 * usual->second > tally.sinks.size();
  out.sink_key = is_one_key ? "key " + std::to_string(usual->first) : "another key in each window";
  return out;
}

Evidence TextTally::null_evidence(std::size_t layer, std::size_t head) const {
  const HeadTally& tally = heads[layer][head];
  Evidence out;
  out.retrieval = tally.shuffled.retrieval();
  if (layers_[layer].kind != Kind::cross) {
    out.previous = tally.shuffled.previous();
    out.local = tally.shuffled.local();
  }
  out.sink = tally.shuffled_sink;
  return out;
}

information::Table TextTally::sampled_rows(std::size_t layer, std::size_t head) const {
  const HeadTally& tally = heads[layer][head];
  if (tally.sampled_columns == 0) return {};
  information::Table out(tally.sampled_rows.size() / tally.sampled_columns, tally.sampled_columns);
  std::ranges::copy(tally.sampled_rows, out.values.begin());
  for (std::size_t row = 0; row < out.rows; ++row) {
    double sum = 0;  // below 1 if a sink takes part of the mass; 0 for a row that sees nothing
    for (const double weight : out.row(row)) sum += weight;
    for (double& weight : out.row(row)) weight = sum > 0 ? weight / sum : 1 / static_cast<double>(out.columns);
  }
  return out;
}

}  // namespace isentropic::scan
