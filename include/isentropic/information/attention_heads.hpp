// Several attention heads together: how redundant and diverse they are, and what they jointly say about a label. Nats.
//
// Heads are at least two row-stochastic tables of the same shape (see attention_matrices.hpp for what is accepted). J_i
// is the key that head i picks for a random query; given the query the heads pick independently:
//
//   p(j1, j2) = mean_q a1(j1|q) a2(j2|q)
//   redundancy  R = 1/(h(h-1)) sum_{i != j} I(J_i;J_j) / min(H(J_i), H(J_j))           in [0, 1]; 0/0 = 0
//   similarity  1 - mean over pairs and queries of JS(a_i(.|q), a_j(.|q)) / log 2      in [0, 1]
//   diversity   mean_q JS(a_1(.|q), ..., a_h(.|q)) = mean_q [H(mean a) - mean H]       in [0, log h]
//
// R and similarity answer different questions: heads that look at fixed, different offsets have R = 1 (each tells where
// the other looks) and similarity 0; uniform heads have R = 0 and similarity 1. One query says nothing about R.
#pragma once

#include <span>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

// p(j1, j2): keys of the first head along the rows. At least two queries.
ISENTROPIC_API Table joint_of_heads(const Table& first, const Table& second);
ISENTROPIC_API double head_redundancy(std::span<const Table> heads);  // R; at least two queries
ISENTROPIC_API double head_similarity(std::span<const Table> heads);
ISENTROPIC_API double head_diversity(std::span<const Table> heads);

// What heads Z_1 ... Z_H say about Y, decomposed in two exact ways from their joint distribution (Y the last variable):
//
//   chain rule            I(Z_1..Z_H; Y) = sum_h I(Z_h; Y | Z_1..Z_{h-1})
//   inclusion-exclusion   I(Z_1..Z_H; Y) = sum over non-empty sets S of (-1)^(|S|+1) C_S
//
// C_S is the co-information of {Z_h, h in S} and Y: for a pair I(Z1;Z2) - I(Z1;Z2|Y), positive where redundancy
// dominates, negative for synergy. Pairs alone do not suffice beyond two heads. Two copies of a bit: 1 = 1 + 1 - 1;
// XOR: 1 = 0 + 0 - (-1).
struct HeadDecomposition {
  struct Term {
    Variables heads;            // S
    double co_information = 0;  // C_S
  };
  double total = 0;            // I(Z_1..Z_H; Y)
  std::vector<double> single;  // I(Z_h; Y)
  std::vector<double> chain;   // I(Z_h; Y | Z_<h)
  std::vector<Term> terms;     // every non-empty S, smaller sets first

  ISENTROPIC_API double chain_sum() const;
  ISENTROPIC_API double inclusion_exclusion() const;
};
// At least two variables; at most 16 heads, since there are 2^H terms.
ISENTROPIC_API HeadDecomposition decompose_heads(const Joint& joint);

}  // namespace isentropic::information
