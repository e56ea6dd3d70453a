// The minimum entropy of a row of scores of bounded norm: the bound behind "entropy collapse". Nats.
//
// Zhai, Likhomanenko, Littwin, Busbridge, Ramapuram, Zhang, Gu & Susskind 2023 ("Stabilizing Transformer Training by
// Preventing Attention Entropy Collapse"): if the scores of a row of T keys have Euclidean norm at most sigma (for
// instance because the spectral norms of the query and key weights and of the inputs multiply to sigma), then
//
//   H >= log(1 + (T - 1) beta) + sigma sqrt(T (T - 1)) beta / (1 + (T - 1) beta),     beta = exp(-sigma sqrt(T/(T-1)))
//
// with equality for one high score and all others equally low: sigma (sqrt((T-1)/T), -1/sqrt(T (T-1)), ...). The bound
// falls like sigma e^-sigma once sigma exceeds log T: if the norm of the weights grows, attention can collapse.
//
// By hand: T = 2, sigma = log(3) / sqrt 2: beta = 1/3, H = log(4/3) + log(3) / 4 = 0.562335 = H(3/4, 1/4).
#pragma once

#include <cstdint>

#include "isentropic/export.hpp"

namespace isentropic::theory {

// The bound for n >= 1 keys (one key: 0) and a norm >= 0.
ISENTROPIC_API double least_entropy_of_norm(std::int64_t n, double norm);
// The inverse: the largest norm for which the bound guarantees at least `entropy`, in [0, log n); n >= 2. Infinite for
// entropy 0.
ISENTROPIC_API double norm_that_keeps_entropy(std::int64_t n, double entropy);

}  // namespace isentropic::theory
