// Solves for the scales that give every row its wanted entropy, by statistics-only passes over blocks of rows.
#pragma once

#include "isentropic/attention.hpp"

namespace isentropic {

// `scales` holds the visible counts; lambda, status and iterations are filled in.
void solve_wanted_entropy(const AttentionProblem& problem, RowScales& scales);

}  // namespace isentropic
