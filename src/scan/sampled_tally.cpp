// Accumulates sampled rows.
#include "scan/sampled_tally.hpp"

#include <algorithm>

#include "scan/labels.hpp"

namespace isentropic::scan {

double SampledTally::Mean::value() const { return count > 0 ? sum / static_cast<double>(count) : kNotMeasured; }

void SampledTally::add(const SampledPlace& place, const RowEvidence& evidence) {
  const std::int64_t visible = place.visible();
  if (place.sees(place.position - 1) && visible > 1) previous_.add(evidence.previous);
  if (visible >= kFewestKeysForLocal) local_.add(evidence.recent);
  if (place.targets == 0) return;
  const double chance = static_cast<double>(place.targets) / static_cast<double>(visible);
  retrieval_.add((evidence.copied - chance) / (1 - chance));
}

void SampledTally::add_profile(const SampledPlace& place, std::span<const double> profile) {
  const auto bins = static_cast<std::size_t>(distance_bins(place));
  profile_.resize(std::max(profile_.size(), bins));
  for (std::size_t bin = 0; bin < bins; ++bin) profile_[bin] += profile[bin];
  ++rows_;
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
  const SampledPlace& place = row.place;
  sums_.resize(std::max(sums_.size(), row.weights.size()));
  rows_.resize(sums_.size());
  auto other = static_cast<std::int64_t>(row.offset);  // shuffled_key(j) - begin, updated from key to key
  for (std::int64_t j = place.begin; j < place.end; ++j) {
    sums_[static_cast<std::size_t>(j)] += row.weights[static_cast<std::size_t>(place.begin + other)];
    ++rows_[static_cast<std::size_t>(j)];
    other += place.step;
    if (other >= place.visible()) other -= place.visible();
  }
}

double KeyWeights::largest() const {
  double out = kNotMeasured;
  for (std::size_t j = 0; j < sums_.size(); ++j) {
    if (rows_[j] < kFewestRows) continue;
    const double mean = sums_[j] / rows_[j];
    if (!(out >= mean)) out = mean;
  }
  return out;
}

}  // namespace isentropic::scan
