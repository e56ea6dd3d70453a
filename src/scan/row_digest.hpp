// What a scan keeps of a sampled row of weights p: a few hundred numbers, computed on the CPU (row_digest.cpp) or on a
// GPU (cuda/row_digest.hpp) with the arithmetic of this header.
//
//   evidence    previous   p(i - 1), i the row's position; 0 if it does not see that key
//               recent     p of the last 16 keys
//               copied     p(T), T the keys after earlier occurrences of the row's token (sampling.hpp)
//   profile     p by distance |i - j|: 0, 1, 2-3, 4-7, 8-15, ...
//
// and, for the first window only, which is drawn:
//
//   shuffled    the evidence with the keys in shuffled order: what chance gives
//   blocks, columns   p of stretches of keys (stretches.hpp), for a picture and for comparing heads
//   heaviest    the kKeysOfRow heaviest keys, ordered by weight, then position; rest: all others together
//
// All but blocks and columns cover only the keys [begin, end) that the row sees. The shuffled order is a bijection that
// needs no table and moves neighbours far apart: for k keys
//
//   j -> begin + (step (j - begin) + offset) mod k,   gcd(step, k) = 1, step / k about 0.618, offset random
#pragma once

#include <cstdint>
#include <span>

#include "base/mix.hpp"
#include "isentropic/host_device.hpp"

namespace isentropic::scan {

inline constexpr std::int64_t kRecentKeys = 16;
inline constexpr std::int32_t kKeysOfRow = 16;

// What is known of a row before its weights.
struct SampledPlace {
  std::int64_t position = 0;
  std::int64_t begin = 0, end = 0;             // the keys it sees
  std::int64_t first_target = 0, targets = 0;  // T, in a list for all rows
  std::int64_t step = 1;                       // of the shuffled order

  ISENTROPIC_HOST_DEVICE std::int64_t visible() const { return end - begin; }
  ISENTROPIC_HOST_DEVICE bool sees(std::int64_t key) const { return key >= begin && key < end; }
};

// The keys in a bin of the profile: [before_begin, before_end) and [after_begin, after_end).
struct DistanceBin {
  std::int64_t before_begin, before_end, after_begin, after_end;
};
ISENTROPIC_HOST_DEVICE inline DistanceBin distance_bin(std::int64_t position, int bin) {
  const std::int64_t nearest = bin == 0 ? 0 : std::int64_t{1} << (bin - 1), beyond = std::int64_t{1} << bin;
  return {position - beyond + 1, position - nearest + 1, position + nearest, bin == 0 ? position : position + beyond};
}
// Number of bins needed for distances up to `farthest`: 0 for none, 1 for 0, 2 for 1, 3 for 2 and 3.
ISENTROPIC_HOST_DEVICE inline int distance_bins(std::int64_t farthest) {
  int bins = 0;
  for (std::int64_t below = 0; farthest >= below; below = below == 0 ? 1 : 2 * below) ++bins;
  return bins;
}
ISENTROPIC_HOST_DEVICE inline int distance_bins(const SampledPlace& place) {
  const std::int64_t before = place.position - place.begin, after = place.end - 1 - place.position;
  return distance_bins(before > after ? before : after);
}

// ---- the shuffled order of the keys ----

ISENTROPIC_HOST_DEVICE inline std::uint64_t shuffle_offset(std::uint64_t layer, std::uint64_t head,
                                                           const SampledPlace& place) {
  const auto position = static_cast<std::uint64_t>(place.position);
  return place.visible() > 0
             ? mix((layer << 48) ^ (head << 32) ^ position) % static_cast<std::uint64_t>(place.visible())
             : 0;
}
// The key whose weight key j is given; both are visible.
ISENTROPIC_HOST_DEVICE inline std::int64_t shuffled_key(const SampledPlace& place, std::uint64_t offset,
                                                        std::int64_t j) {
  const auto k = static_cast<std::uint64_t>(place.visible()), step = static_cast<std::uint64_t>(place.step);
  return place.begin + static_cast<std::int64_t>((step * static_cast<std::uint64_t>(j - place.begin) + offset) % k);
}

// ---- the numbers, in order ----

struct RowEvidence {
  double previous = 0, recent = 0, copied = 0;
};

struct DigestLayout {
  std::int32_t bins = 0, blocks = 0, columns = 0;
  bool is_drawn = false;  // otherwise only evidence and profile

  static constexpr std::int32_t kEvidence = 3;
  ISENTROPIC_HOST_DEVICE std::int32_t profile_at() const { return kEvidence; }
  ISENTROPIC_HOST_DEVICE std::int32_t shuffled_at() const { return profile_at() + bins; }
  ISENTROPIC_HOST_DEVICE std::int32_t blocks_at() const { return shuffled_at() + kEvidence; }
  ISENTROPIC_HOST_DEVICE std::int32_t columns_at() const { return blocks_at() + blocks; }
  ISENTROPIC_HOST_DEVICE std::int32_t heaviest_keys_at() const { return columns_at() + columns; }  // -1: no more
  ISENTROPIC_HOST_DEVICE std::int32_t heaviest_weights_at() const { return heaviest_keys_at() + kKeysOfRow; }
  ISENTROPIC_HOST_DEVICE std::int32_t rest_at() const { return heaviest_weights_at() + kKeysOfRow; }
  ISENTROPIC_HOST_DEVICE std::int32_t size() const { return is_drawn ? rest_at() + 1 : shuffled_at(); }
};
// The layout for a layer with this many rows and keys.
DigestLayout digest_layout(std::int64_t rows, std::int64_t keys, bool is_drawn);

// Access to the numbers of one row by name.
class RowDigest {
 public:
  RowDigest(const DigestLayout& layout, std::span<const double> numbers) : layout_(layout), numbers_(numbers) {}
  RowEvidence evidence() const { return evidence_at(0); }
  RowEvidence shuffled() const { return evidence_at(layout_.shuffled_at()); }
  std::span<const double> profile() const { return part(layout_.profile_at(), layout_.bins); }
  std::span<const double> blocks() const { return part(layout_.blocks_at(), layout_.blocks); }
  std::span<const double> columns() const { return part(layout_.columns_at(), layout_.columns); }
  std::span<const double> heaviest_keys() const { return part(layout_.heaviest_keys_at(), kKeysOfRow); }
  std::span<const double> heaviest_weights() const { return part(layout_.heaviest_weights_at(), kKeysOfRow); }
  double rest() const { return part(layout_.rest_at(), 1)[0]; }

 private:
  std::span<const double> part(std::int32_t at, std::int32_t count) const {
    return numbers_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
  }
  RowEvidence evidence_at(std::int32_t at) const {
    const auto numbers = part(at, DigestLayout::kEvidence);
    return {numbers[0], numbers[1], numbers[2]};
  }
  const DigestLayout& layout_;
  std::span<const double> numbers_;
};

// ---- on the CPU ----

// One row of weights, and the information from its tokens.
struct SampledRow {
  SampledPlace place = {};
  std::span<const float> weights = {};         // of all keys
  std::span<const std::int32_t> targets = {};  // T
  std::uint64_t offset = 0;                    // of the shuffled order
};

// Writes layout.size() numbers.
void digest_row(const SampledRow& row, const DigestLayout& layout, std::span<double> numbers);

}  // namespace isentropic::scan
