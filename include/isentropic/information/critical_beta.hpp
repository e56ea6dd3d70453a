// Where the information bottleneck collapses: for beta >= beta_c the best code of I(Z;Y) - beta I(Z;X) is constant.
//
//   beta_c = sup over r != p_X of KL(rW || p_Y) / KL(r || p_X),   W = p(y|x)
//
// the contraction coefficient of the channel for the divergence (Ahlswede & Gacs 1976), 0 <= beta_c <= 1. For r near
// p_X the ratio tends to at most rho^2, the squared maximal correlation (Renyi 1959): the second singular value,
// squared, of p(x,y) / sqrt(p(x) p(y)). So rho^2 <= beta_c, and between them the constant code is a local optimum but
// not the best.
//
// By hand: the binary symmetric channel with uniform input and flip e has beta_c = rho^2 = (1 - 2e)^2; where Y is a
// function of X, both are 1; independent X and Y: 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

// rho^2 of a joint distribution; 0 when X or Y takes only one value.
ISENTROPIC_API double squared_maximal_correlation(const Table& joint);

struct CriticalBeta {
  double global = 0;          // the best ratio found, a lower bound on beta_c
  double local = 0;           // rho^2
  std::vector<double> input;  // the r that reaches `global`; p_X itself when no r beats the limit rho^2
};

// Ascent from point masses, from p(x|y), along the singular vectors, and from `random_starts` random r. Each step is
// r(x) ~ p(x) exp(sum_y W(y|x) log((rW)(y) / p(y)) / ratio), which never lowers the ratio. progress receives the
// fraction of the starts done, 0 ... 1.
ISENTROPIC_API CriticalBeta critical_beta(const Table& joint, std::size_t random_starts = 64, std::uint64_t seed = 1,
                                          const std::function<void(double)>& progress = {});

}  // namespace isentropic::information
