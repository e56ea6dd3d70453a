// Repeated values, which are very rare in continuous variables.
#pragma once

#include "isentropic/information/table.hpp"

namespace isentropic::information {

// The fraction of values that occur more than once, in the column with the most of them; 0 without columns.
double repeated_share(const Table& samples);

// Whether there are enough to mislead estimators that expect distinct distances: more than 5%.
inline bool has_many_ties(const Table& samples) { return repeated_share(samples) > .05; }

}  // namespace isentropic::information
