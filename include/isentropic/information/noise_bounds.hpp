// Information in a layer with Gaussian noise: T = f(X) + N(0, s2 I), X one of N inputs. Nats.
//
// T is a mixture of N Gaussians, so its entropy has no closed form; pairwise distances bound it from both sides
// (Kolchinsky & Tracey 2017):
//
//   I(X;T) <= -sum_i w_i log sum_j w_j exp(-|f_i - f_j|^2 / (2 s2))     Kullback-Leibler distance of the components
//   I(X;T) >= -sum_i w_i log sum_j w_j exp(-|f_i - f_j|^2 / (8 s2))     Bhattacharyya distance
//
// Both lie in [0, log N]; they meet when components coincide or are far apart. By hand: two outputs at distance D,
// equal weights: upper = log 2 - log(1 + exp(-D^2 / (2 s2))). Time N^2 d, memory linear in N.
#pragma once

#include <cstdint>
#include <span>

#include "isentropic/executor.hpp"
#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

struct ISENTROPIC_API InformationBounds {
  double lower = 0, upper = 0;
};

// I(X;T): `outputs` contains f(x_i), one row per input; equal weights if `weights` is empty. Error: variance not
// positive, outputs not finite, weights not a distribution.
ISENTROPIC_API InformationBounds noisy_layer_input_information(const Table& outputs, double noise_variance,
                                                               std::span<const double> weights = {},
                                                               Executor& executor = default_executor());

// I(T;Y) for one label per input, computed as I(X;T) - sum_y p(y) I(X;T | Y = y).
struct ISENTROPIC_API LabelInformation {
  InformationBounds bounds;           // on the true value: each end combines the worst case of both terms
  double pairwise_kl = 0;             // both terms by the upper bound: the curve usually plotted; not itself a bound
  double pairwise_bhattacharyya = 0;  // both by the lower bound
};
ISENTROPIC_API LabelInformation noisy_layer_label_information(const Table& outputs,
                                                              std::span<const std::int64_t> labels,
                                                              double noise_variance,
                                                              Executor& executor = default_executor());

}  // namespace isentropic::information
