// Rows with a known match, and the factor on the scores at which a head's entropy equals the surprisal of the match.
#include <algorithm>
#include <cmath>
#include <map>

#include "lab/theory_check.hpp"

namespace isentropic::lab {
namespace {

constexpr double kFarthestFactor = 8;  // powers of two
constexpr int kFactorBisections = 40;
constexpr double kLeastMatchWeight = 1e-38;  // about the smallest normal float32

// Means over the rows that see their match, [heads].
struct MatchMeans {
  at::Tensor entropy, surprise;
};

}  // namespace

Matches matches_of(const std::vector<std::int32_t>& ids, std::int64_t most) {
  Matches all;
  std::map<std::int32_t, std::int64_t> latest;
  for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
    const std::int32_t id = ids[static_cast<std::size_t>(i)];
    const auto earlier = latest.find(id);
    if (earlier != latest.end() && earlier->second + 1 < i) {
      all.rows.push_back(i);
      all.keys.push_back(earlier->second + 1);
    }
    latest[id] = i;
  }
  Matches out;
  const std::int64_t there = std::ssize(all.rows), count = std::min(most, there);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(i * there / count);
    out.rows.push_back(all.rows[place]);
    out.keys.push_back(all.keys[place]);
  }
  return out;
}

void add_calibration(const at::Tensor& weights, const at::Tensor& is_seen, const Matches& matches,
                     std::vector<scan::TheoryHead>& heads) {
  const at::Tensor keys = at::tensor(matches.keys, at::kLong).unsqueeze(1);  // [rows, 1]
  const at::Tensor counts = is_seen.gather(1, keys).squeeze(1).to(at::kDouble), rows = counts.sum();
  if (rows.item<double>() == 0) return;
  const at::Tensor scores = weights.clamp_min(kLeastMatchWeight).log();
  const auto means_at = [&](const at::Tensor& exponent) -> MatchMeans {
    const at::Tensor scaled = at::exp2(exponent).view({-1, 1, 1}) * scores;
    const at::Tensor log_p = scaled.masked_fill(is_seen.logical_not(), -INFINITY).log_softmax(-1);
    const at::Tensor entropy = -(log_p.exp() * log_p.masked_fill(is_seen.logical_not(), 0)).sum(-1);
    const at::Tensor surprise = -log_p.gather(2, keys.expand({scores.size(0), -1, 1})).squeeze(2);
    return {(entropy * counts).sum(1) / rows, surprise.masked_fill(counts == 0, 0).sum(1) / rows};
  };
  const auto is_unsure = [&](const at::Tensor& exponent) {
    const MatchMeans means = means_at(exponent);
    return means.entropy > means.surprise;
  };
  at::Tensor low = at::full({scores.size(0)}, -kFarthestFactor, at::kDouble), high = -low;
  const at::Tensor looks = is_unsure(low);
  for (int step = 0; step < kFactorBisections; ++step) {
    const at::Tensor middle = (low + high) / 2, unsure = is_unsure(middle);
    low = at::where(unsure, middle, low);
    high = at::where(unsure, high, middle);
  }
  const at::Tensor factor = at::exp2((low + high) / 2);
  const MatchMeans own = means_at(at::zeros_like(low));
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const auto head = static_cast<std::int64_t>(i);
    heads[i].match_entropy = own.entropy[head].item<double>();
    heads[i].match_surprise = own.surprise[head].item<double>();
    if (looks[head].item<bool>()) heads[i].calibrated_factor = factor[head].item<double>();
  }
}

}  // namespace isentropic::lab
