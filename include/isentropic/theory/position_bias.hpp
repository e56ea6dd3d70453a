// The entropy of attention that depends only on distance. Nats.
//
// A bias -m x on the key at distance x = 0, 1, 2, ... (one-sided ALiBi: Press, Smith & Lewis 2021) makes the weights
// geometric, p_x proportional to q^x with q = e^-m:
//
//   all distances:      H = (-q log q - (1 - q) log(1 - q)) / (1 - q)
//   the first n alone:  H = log((1 - q^n) / (1 - q)) + m (q / (1 - q) - n q^n / (1 - q^n))
//
// For slope m > 0 the entropy does not grow with the context. By hand: m = log 2: H = 2 log 2; m = 0.1: H = 3.3030; n =
// 2, m = log 3: H(3/4, 1/4) = 0.562335.
#pragma once

#include <cstdint>

#include "isentropic/export.hpp"

namespace isentropic::theory {

// m > 0.
ISENTROPIC_API double one_sided_alibi_entropy(double slope);
// n >= 1 keys; slope >= 0 (0: log n).
ISENTROPIC_API double one_sided_alibi_entropy(double slope, std::int64_t n);

}  // namespace isentropic::theory
