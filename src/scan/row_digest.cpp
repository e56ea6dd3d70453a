// Digests of rows on the CPU.
#include "scan/row_digest.hpp"

#include <algorithm>
#include <functional>

#include "scan/result.hpp"
#include "scan/similarity.hpp"
#include "scan/stretches.hpp"

namespace isentropic::scan {
namespace {

float weight_at(const SampledRow& row, std::int64_t key) { return row.weights[static_cast<std::size_t>(key)]; }

// The weight of the keys of [begin, end) that the row sees.
double weight_of(const SampledRow& row, std::int64_t begin, std::int64_t end) {
  double sum = 0;
  for (std::int64_t j = std::max(begin, row.place.begin); j < std::min(end, row.place.end); ++j)
    sum += weight_at(row, j);
  return sum;
}

// weight(j): the weight given to key j.
template <class Weight>
void find_evidence(const SampledRow& row, Weight weight, double* out) {
  const SampledPlace& place = row.place;
  double recent = 0, copied = 0;
  for (std::int64_t j = std::max(place.position - kRecentKeys + 1, place.begin);
       j < std::min(place.position + 1, place.end); ++j)
    recent += weight(j);
  for (const std::int32_t j : row.targets) copied += weight(j);
  out[0] = place.sees(place.position - 1) ? weight(place.position - 1) : 0.0;
  out[1] = recent, out[2] = copied;
}

// One pass over the row that keeps the heaviest so far, in descending order.
void find_heaviest(const SampledRow& row, double* keys, double* weights, double* rest) {
  std::size_t count = 0;
  *rest = 0;
  for (std::int64_t key = row.place.begin; key < row.place.end; ++key) {
    const double weight = weight_at(row, key);
    if (count == kKeysOfRow) {
      if (!(weight > weights[count - 1])) {
        *rest += weight;
        continue;
      }
      *rest += weights[--count];
    }
    const auto place =
        static_cast<std::size_t>(std::upper_bound(weights, weights + count, weight, std::greater<>()) - weights);
    std::copy_backward(weights + place, weights + count, weights + count + 1);
    std::copy_backward(keys + place, keys + count, keys + count + 1);
    weights[place] = weight, keys[place] = static_cast<double>(key);
    ++count;
  }
  std::fill(keys + count, keys + kKeysOfRow, -1.0);
  std::fill(weights + count, weights + kKeysOfRow, 0.0);
}

}  // namespace

DigestLayout digest_layout(std::int64_t rows, std::int64_t keys, bool is_drawn) {
  constexpr Pooling kept;
  DigestLayout out{.bins = distance_bins(std::max(rows, keys) - 1), .is_drawn = is_drawn};
  if (!is_drawn) return out;
  out.blocks = static_cast<std::int32_t>(std::min<std::int64_t>(kBlocks, keys));
  out.columns = static_cast<std::int32_t>(std::min<std::int64_t>(kept.columns, keys));
  return out;
}

void digest_row(const SampledRow& row, const DigestLayout& layout, std::span<double> numbers) {
  double* const out = numbers.data();
  find_evidence(
      row, [&](std::int64_t j) -> double { return weight_at(row, j); }, out);
  const int bins = distance_bins(row.place);
  for (int bin = 0; bin < layout.bins; ++bin) {
    const DistanceBin keys = distance_bin(row.place.position, bin);
    out[layout.profile_at() + bin] = bin < bins ? weight_of(row, keys.before_begin, keys.before_end) +
                                                      weight_of(row, keys.after_begin, keys.after_end)
                                                : 0;
  }
  if (!layout.is_drawn) return;
  find_evidence(
      row, [&](std::int64_t j) -> double { return weight_at(row, shuffled_key(row.place, row.offset, j)); },
      out + layout.shuffled_at());
  std::ranges::copy(stretch_sums(row.weights, static_cast<std::size_t>(layout.blocks)), out + layout.blocks_at());
  std::ranges::copy(stretch_sums(row.weights, static_cast<std::size_t>(layout.columns)), out + layout.columns_at());
  find_heaviest(row, out + layout.heaviest_keys_at(), out + layout.heaviest_weights_at(), out + layout.rest_at());
}

}  // namespace isentropic::scan
