// What the weights of sampled rows say about one head, added up row by row.
//
//   previous    p(i - 1)
//   retrieval   (p(T) - c) / (1 - c), T = { j + 1 : j < i - 1, token j = token i }, c = |T| / k; rows with such a T
//   local       p of the last 16 keys, in rows with k >= 64
//   profile     p by distance |i - j|: 0, 1, 2-3, 4-7, 8-15, ...
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scan/measurement.hpp"

namespace isentropic::scan {

inline constexpr std::int64_t kFewestKeysForLocal = 64;

// One row of weights, and what its tokens say about it.
struct SampledRow {
  std::int64_t position = 0;
  KeyRange visible = {};
  std::span<const float> weights = {};         // of every key
  std::span<const std::int64_t> targets = {};  // T

  double weight_of(std::int64_t begin, std::int64_t end) const;
};

// T of a row, of the keys it sees; empty where its token has not occurred before.
std::vector<std::int64_t> copy_targets(std::span<const std::int32_t> ids, std::int64_t position, KeyRange visible);

class SampledTally {
 public:
  void add(const SampledRow& row);

  double previous() const;  // NaN: no row could tell
  double retrieval() const;
  double local() const;
  std::vector<double> profile() const;

 private:
  struct Mean {
    double sum = 0;
    std::int64_t count = 0;
    void add(double value) { sum += value, ++count; }
    double value() const;
  };
  Mean previous_, retrieval_, local_;
  std::vector<double> profile_;
  std::int64_t rows_ = 0;
};

// The mean weight of every key over the sampled rows that see it.
class KeyWeights {
 public:
  void add(const SampledRow& row);
  // The largest, of the keys that `fewest` rows or more see; NaN: there is none.
  double largest(std::int64_t fewest) const;

 private:
  std::vector<float> sums_;
  std::vector<std::uint16_t> rows_;
};

}  // namespace isentropic::scan
