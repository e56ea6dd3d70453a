// How much of the score matrix a call computes: the work that sparse attention may or may not save.
//
// A NaN key contaminates exactly the rows that compute their score with it. So each key is replaced by NaN in turn, and
// the contaminated rows are counted: n_q n_k for a map that computes every score before dropping some of them.
#pragma once

#include "experiments/tools/kernels.hpp"

namespace isentropic::ledger {

// The number of pairs (query, key) whose score attention(query, key, value) computes under `options`.
std::int64_t scores_computed(const information::Table& query, const information::Table& key,
                             const information::Table& value, const AttentionProblem& options = {});

}  // namespace isentropic::ledger
