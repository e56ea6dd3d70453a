// Counts repeated values, which break the assumptions of nearest-neighbour estimators.
#include "information/ties.hpp"

#include <algorithm>
#include <vector>

namespace isentropic::information {

double repeated_share(const Table& samples) {
  double largest = 0;
  std::vector<double> column(samples.rows);
  for (std::size_t c = 0; c < samples.columns; ++c) {
    for (std::size_t r = 0; r < samples.rows; ++r) column[r] = samples(r, c);
    std::sort(column.begin(), column.end());
    std::size_t repeated = 0;
    for (std::size_t r = 0; r < column.size(); ++r)
      if ((r > 0 && column[r] == column[r - 1]) || (r + 1 < column.size() && column[r] == column[r + 1])) ++repeated;
    largest = std::max(largest, static_cast<double>(repeated) / static_cast<double>(column.size()));
  }
  return largest;
}

}  // namespace isentropic::information
