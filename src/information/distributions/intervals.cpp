// Bins values by rank.
#include "information/distributions/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace isentropic::information {

std::vector<double> equal_mass_intervals(const std::vector<double>& values, int bins) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const bool tied = rank > 0 && values[order[rank]] == values[order[rank - 1]];
    out[order[rank]] =
        tied ? out[order[rank - 1]] : std::floor(static_cast<double>(rank) * bins / static_cast<double>(order.size()));
  }
  return out;
}

}  // namespace isentropic::information
