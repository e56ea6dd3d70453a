// Statistics of one head from the weights of sampled rows, accumulated row by row.
//
//   previous    p(i - 1)
//   retrieval   (p(T) - c) / (1 - c), c = |T| / k; only rows that have a T (sampling.hpp)
//   local       p of the last 16 keys, in rows with k >= 64
//   profile     p by distance |i - j|: 0, 1, 2-3, 4-7, 8-15, ...
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scan/row_digest.hpp"

namespace isentropic::scan {

inline constexpr std::int64_t kFewestKeysForLocal = 64;

class SampledTally {
 public:
  void add(const SampledPlace& place, const RowEvidence& evidence);
  void add_profile(const SampledPlace& place, std::span<const double> profile);

  double previous() const;  // NaN if no row contributed
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

// The mean weight of every key over the sampled rows that see it, with the keys in shuffled order.
class KeyWeights {
 public:
  void add(const SampledRow& row);
  // The largest mean among keys that at least kFewestRows rows see; NaN if there are none.
  double largest() const;

  static constexpr std::int64_t kFewestRows = 4;

 private:
  std::vector<float> sums_;
  std::vector<std::uint16_t> rows_;
};

}  // namespace isentropic::scan
