// Ranks of linear attention, with and without a causal mask.
#include <algorithm>
#include <cmath>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger::concentration {
namespace {

// Gaussian elimination with complete pivoting; pivots below 1e-12 of the first count as 0.
std::size_t rank_of(Table a) {
  std::size_t rank = 0;
  double first = 0;
  for (; rank < std::min(a.rows, a.columns); ++rank) {
    std::size_t row = rank, column = rank;
    for (std::size_t i = rank; i < a.rows; ++i)
      for (std::size_t j = rank; j < a.columns; ++j)
        if (std::abs(a(i, j)) > std::abs(a(row, column))) row = i, column = j;
    const double pivot = a(row, column);
    if (rank == 0) first = std::abs(pivot);
    if (std::abs(pivot) <= 1e-12 * first) break;
    for (std::size_t j = 0; j < a.columns; ++j) std::swap(a(rank, j), a(row, j));
    for (std::size_t i = 0; i < a.rows; ++i) std::swap(a(i, rank), a(i, column));
    for (std::size_t i = rank + 1; i < a.rows; ++i) {
      const double factor = a(i, rank) / pivot;
      for (std::size_t j = rank; j < a.columns; ++j) a(i, j) -= factor * a(rank, j);
    }
  }
  return rank;
}

std::int64_t zeros_on_diagonal(const Table& a) {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < a.rows; ++i) out += a(i, i) == 0;
  return out;
}

Table random_weights(Check& check, std::size_t n, std::size_t d, AttentionProblem options) {
  const Table query(n, d, check.random().normals(n * d)), key(n, d, check.random().normals(n * d));
  options.scale = Scale::constant(1);
  return weights_of(query, key, options);
}

AttentionProblem linear(Feature feature, Mask mask) {
  AttentionProblem out;
  out.mask = std::move(mask);
  out.map = ScoreMap::linear(feature, Normaliser::none);
  return out;
}

// A triangular matrix is singular exactly when its diagonal contains a zero. relu features of d coordinates produce one
// with probability (3/4)^d: no coordinate is positive in both query and key.
void causal_rank(Check& check) {
  const std::size_t n = 40, d = 2;
  const Feature feature = check.choose(Feature::elu_plus_one, Feature::relu);
  std::size_t least = n;
  std::int64_t disagreements = 0;
  Mean zeros, ranks;
  for (std::int64_t t = 0; t < check.effort(10, 100); ++t) {
    least = std::min(least, rank_of(random_weights(check, n, d, linear(feature, Mask::causal()))));
    const Table relu = random_weights(check, n, d, linear(Feature::relu, Mask::causal()));
    const std::int64_t zero = zeros_on_diagonal(relu);
    zeros.add(static_cast<double>(zero));
    const std::size_t rank = rank_of(relu);
    ranks.add(static_cast<double>(rank));
    disagreements += (rank == n) != (zero == 0);
  }
  check.near("least rank of causal attention, n = 40", static_cast<double>(least), static_cast<double>(n), 0);
  check.never("relu features: full rank with a zero on the diagonal, or the reverse", disagreements);
  check.near("relu features, d = 2: zeros on the diagonal", zeros.estimate(), 40 * std::pow(0.75, 2));
  // Quoted from a single matrix.
  check.as_quoted("zeros on the diagonal of one matrix, quoted", zeros, 24, 1);
  check.as_quoted("its rank, quoted", ranks, 23, 1);
}

void linear_rank(Check& check) {
  const std::size_t n = 40;
  for (const std::size_t d : {4u, 8u})
    check.near("rank of linear attention, n = 40, d = " + std::to_string(d),
               static_cast<double>(rank_of(random_weights(check, n, d, linear(Feature::relu, Mask::none())))),
               static_cast<double>(d), 0);
  check.near("rank of softmax attention, n = 40, d = 8", static_cast<double>(rank_of(random_weights(check, n, 8, {}))),
             static_cast<double>(n), 0);
}

}  // namespace

std::vector<Claim> rank_claims() {
  return {computed("004-0", Verdict::holds_if, "A causal (lower triangular) attention matrix has full rank",
                   "if no weight on the diagonal is zero; relu features make many of them zero", causal_rank),
          computed("004-0b", Verdict::holds, "Linear attention over d features has rank at most d",
                   "softmax of the same sizes has full rank", linear_rank)};
}

}  // namespace isentropic::ledger::concentration
