// Rows of samples as small integers: equal rows get equal symbols.
#include "information/distributions/symbols.hpp"

#include <algorithm>
#include <numeric>

namespace isentropic::information {
namespace {

// Numbers the rows in the order of `less`; equal rows get the same number.
template <class Less>
Symbols ranked(std::size_t rows, const Less& less) {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), less);
  Symbols out;
  out.of_row.resize(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (i == 0 || less(order[i - 1], order[i])) ++out.distinct;
    out.of_row[order[i]] = static_cast<std::int64_t>(out.distinct) - 1;
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> Symbols::counts() const {
  std::vector<std::int64_t> out(distinct, 0);
  for (std::int64_t symbol : of_row) ++out[static_cast<std::size_t>(symbol)];
  return out;
}

Symbols symbols_of(const Table& samples) {
  return ranked(samples.rows, [&](std::size_t a, std::size_t b) {
    const auto left = samples.row(a), right = samples.row(b);
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  });
}

Symbols symbols_of(std::span<const std::int64_t> labels) {
  return ranked(labels.size(), [&](std::size_t a, std::size_t b) { return labels[a] < labels[b]; });
}

Symbols joined(const Symbols& a, const Symbols& b) {
  return ranked(a.of_row.size(), [&](std::size_t i, std::size_t j) {
    return a.of_row[i] != a.of_row[j] ? a.of_row[i] < a.of_row[j] : b.of_row[i] < b.of_row[j];
  });
}

}  // namespace isentropic::information
