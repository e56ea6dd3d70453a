// Rows with too many keys to store, represented only as records: copies are merged by repeated doubling.
#pragma once

#include <algorithm>
#include <cstdint>

#include "experiments/tools/kernels.hpp"
#include "ledger/check.hpp"

namespace isentropic::ledger::attention_entropy {

// `count` keys with the same score.
inline Record record_of_copies(double score, std::int64_t count) {
  Record out, power = single_key(score, std::int64_t{0});
  for (; count > 0; count /= 2, power = merge(power, power))
    if (count % 2 == 1) out = merge(out, power);
  return out;
}

// The least entropy of n keys when m of them have the score `range` and the others 0, over m = 1 ... most.
inline double least_two_level_entropy(std::int64_t n, double range, std::int64_t most) {
  double least = std::log(static_cast<double>(n));
  for (std::int64_t m = 1; m <= std::min(most, n - 1); ++m)
    least = std::min(least, entropy(merge(record_of_copies(range, m), record_of_copies(0, n - m))));
  return least;
}

}  // namespace isentropic::ledger::attention_entropy
