// Values that occur more than once, which continuous variables hardly ever do.
#pragma once

#include "isentropic/information/table.hpp"

namespace isentropic::information {

// The share of values, in the column with most of them, that occur more than once; 0 without columns.
double repeated_share(const Table& samples);

// Enough to mislead estimators that expect every distance once: more than 5%.
inline bool has_many_ties(const Table& samples) { return repeated_share(samples) > .05; }

}  // namespace isentropic::information
