// Counts the keys that an output depends on, by replacing one key at a time with NaN.
#include "ledger/scores_computed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isentropic::ledger {

using information::Table;

std::int64_t scores_computed(const Table& query, const Table& key, const Table& value,
                             const AttentionProblem& options) {
  std::int64_t out = 0;
  for (std::size_t j = 0; j < key.rows; ++j) {
    Table spoilt = key;
    for (double& x : spoilt.row(j)) x = std::numeric_limits<double>::quiet_NaN();
    const Table output = experiments::tools::table_of(experiments::tools::attend(query, spoilt, value, options).output);
    for (std::size_t i = 0; i < output.rows; ++i)
      out += std::any_of(output.row(i).begin(), output.row(i).end(), [](double x) { return std::isnan(x); });
  }
  return out;
}

}  // namespace isentropic::ledger
