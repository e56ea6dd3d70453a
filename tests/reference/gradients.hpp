// Two oracles for the gradient of the scalar loss
//
//   loss = <gO, O> + <gL, L> + <gH, H> + <gE, E> + <gV, V> + <gC, sum p^2>
//
// finite_difference: five-point central differences through the reference forward pass, for every number of the
// problem. Error about h^4 + 1e-16 |loss| / h, 1e-10 at the default h, which is small so that few kinks are crossed.
// dense_gradients: the chain rule with full Jacobians of the softmax, for sizes where differences are slow.
#pragma once

#include <functional>

#include "reference/problem.hpp"

namespace reference {

struct Upstream {
  Numbers output;  // [batch, heads, n_q, d_v]; empty means 0, here and below
  Numbers log_partition, entropy, mean_score, score_variance, collision;  // [batch, heads, n_q]
};

// Skips a row without keys, whose L is -inf; with a sink its L is the sink's logit.
double loss(const Problem& problem, const Upstream& upstream);

using Member = std::function<Numbers&(Problem&)>;

Numbers finite_difference(const Problem& problem, const Upstream& upstream, const Member& member, double step = 1e-5);
// The same for any scalar function of a list of numbers.
Numbers finite_difference(Numbers* numbers, const std::function<double()>& function, double step = 1e-5);

// Supports softmax, top_k and relaxed gumbel; lambda is treated as a constant.
struct DenseGradients {
  Numbers query, key, value;  // shapes of the inputs
  Numbers lambda;             // [batch, heads, n_q]
  Numbers score;              // d loss / d (score after cap and before noise): [batch, heads, n_q, n_k]
  Numbers sink;               // [heads]
};

DenseGradients dense_gradients(const Problem& problem, const Upstream& upstream);

}  // namespace reference
