// How much of the score matrix a call needs: the work that a sparse attention saves, or does not.
//
// A key that is not a number spoils exactly the rows that compute their score with it. So each key is spoilt in turn,
// and the spoilt rows are counted: n_q n_k for a map that looks at every score before it drops some of them.
#pragma once

#include "experiments/tools/kernels.hpp"

namespace isentropic::ledger {

// The pairs (query, key) whose score attention(query, key, value) computes under `options`.
std::int64_t scores_computed(const information::Table& query, const information::Table& key,
                             const information::Table& value, const AttentionProblem& options = {});

}  // namespace isentropic::ledger
