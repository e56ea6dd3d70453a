// From scores to weights, one row at a time.
#pragma once

#include "reference/problem.hpp"
#include "reference/scores.hpp"

namespace reference {

// The indices of the k largest scores among the seen keys, ascending; ties go to the lower index.
std::vector<Index> largest(const Numbers& score, const std::vector<char>& seen, Index k);

// Index of the largest score among the seen keys, the lowest on ties; -1 when none is seen.
Index argmax(const Numbers& score, const std::vector<char>& seen);

// softmax over the keys whose flag is set; the others get 0.
Numbers softmax(const Numbers& score, const std::vector<char>& flags);

// log sum e^s over the keys whose flag is set.
double log_sum_exp(const Numbers& score, const std::vector<char>& flags);

// Projection of the scores onto the simplex, by sorting.
Numbers sparsemax(const Numbers& score, const std::vector<char>& seen);

struct WeightRow {
  std::vector<char> chosen;  // the keys the map keeps: those seen, or those selected by top_k
  Numbers score;             // the input of max_score and argmax: s, (s + g) / tau, or b of linear and decay
  Numbers weight;            // a_j before dropout, with the sink in the normaliser
  Numbers used;              // what multiplies the values, before dropout: a_j, or one-hot when straight-through
};

WeightRow weight_row(const Problem& problem, Index b, Index h, Index i, const ScoreRow& scores);

// Whether the weights are a softmax over the chosen keys.
bool is_softmax(const ScoreMap& map);
// Whether the weights are non-negative and sum to one.
bool is_distribution(const ScoreMap& map);

}  // namespace reference
