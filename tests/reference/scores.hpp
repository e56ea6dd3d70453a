// From vectors to scores: r = q.k, x = lambda r, soft cap, bias; and the laws that give lambda.
#pragma once

#include "reference/problem.hpp"

namespace reference {

// The inputs of a law.
struct LawRow {
  Index visible, d, position, head;
};

// Not defined for per_row and target_entropy.
double law_value(const Scale& scale, const LawRow& row);

enum class Reach { solved, above, below };

// The lambda at which softmax(lambda r) over `raw` has entropy `target`, by bisection.
// Above reach: 0. Below reach: the largest lambda tried.
double solve_entropy(const Numbers& raw, double target, Reach* reach = nullptr);

// One row's scores. Entries of invisible keys are 0 and must be skipped.
struct ScoreRow {
  std::vector<char> seen;
  Index visible = 0;
  double lambda = 0;
  Reach reach = Reach::solved;
  Numbers raw;     // r_j
  Numbers scaled;  // x_j
  Numbers score;   // s_j, the input of the score map
};

ScoreRow score_row(const Problem& problem, Index b, Index h, Index i);

// The same problem with its lambdas given explicitly as per_row.
Problem with_explicit_scale(const Problem& problem);

}  // namespace reference
