// Symbols: samples whose rows are only compared for equality, and how often each occurs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "isentropic/information/table.hpp"

namespace isentropic::information {

// Row i is symbol of_row[i], 0 ... distinct - 1, numbered in lexicographic order of the rows.
struct Symbols {
  std::vector<std::int64_t> of_row;
  std::size_t distinct = 0;

  std::vector<std::int64_t> counts() const;
};

// A table without columns has one symbol.
Symbols symbols_of(const Table& samples);
Symbols symbols_of(std::span<const std::int64_t> labels);
// The pair as one symbol.
Symbols joined(const Symbols& a, const Symbols& b);

}  // namespace isentropic::information
