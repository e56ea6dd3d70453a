// How far the expected loss on new data may exceed the loss on the sample, given what the algorithm learned. Nats.
//
// S is a sample of N independent points, W what the algorithm returns, I(W;S) the information between them. If the
// loss of every fixed w is sigma-sub-Gaussian under the law of the data (Xu & Raginsky 2017, after Russo & Zou 2016):
//
//   | E[loss on new data - loss on S] |  <=  sqrt(2 sigma^2 I(W;S) / N)
//
// A loss in [a, b] has sigma = (b - a) / 2 (Hoeffding 1963). The bound is on the expectation over S and W, not for a
// single sample or hypothesis: with I = 0 it is 0, and a hypothesis chosen beforehand still errs by 1/sqrt(N).
// A deterministic algorithm on continuous data has I = +inf, and the bound is vacuous: +inf.
//
// By hand: N = 1, I = log 2, losses in [0, 2]: sqrt(2 log 2) = 1.17741.
#pragma once

#include "isentropic/export.hpp"

namespace isentropic::theory {

// (high - low) / 2. Error unless low <= high, both finite.
ISENTROPIC_API double sub_gaussian_deviation(double low, double high);

// information in [0, +inf], samples finite and >= 1, sigma finite and >= 0 (0: a constant loss, bound 0 even where I is
// infinite).
ISENTROPIC_API double generalisation_bound(double information, double samples, double sigma);

}  // namespace isentropic::theory
