// Laplace's method, and what it says about log E e^{lambda s}.
//
//   int e^{n f(x)} dx            ~ e^{n f*} sqrt(2 pi/(n |f''|))            interior maximum x*, f'' < 0 there
//   log int e^{lambda s} p(s) ds ~ lambda s* + log p(s*) + log(2 pi/|(log p)''(s*)|)/2
//                                                                            s* maximises lambda s + log p(s)
//
// For a Gaussian density the second line is exact: lambda^2 sigma^2/2. For a density that is flat up to an edge the
// maximum is at the edge, where no second derivative helps; then only the exponential is integrated:
//
//   uniform on width w below s_max:   log E e^{lambda s} ~ lambda s_max - log(lambda w)
//   and the row's entropy:            H ~ log n + 1 - log(lambda w),        1 << lambda w << n
//
// By hand: sigma = 1, lambda = 1: s* = 1, 1 + (-1/2 - log(2 pi)/2) + log(2 pi)/2 = 1/2.
#pragma once

#include "isentropic/export.hpp"

namespace isentropic::theory {

// log of the first line; maximum = f(x*), curvature = f''(x*) < 0.
ISENTROPIC_API double laplace_log_integral(double n, double maximum, double curvature);
// The second line; log_density = log p(s*), curvature = (log p)''(s*) < 0.
ISENTROPIC_API double laplace_log_mean_exp(double lambda, double s_star, double log_density, double curvature);

ISENTROPIC_API double uniform_log_mean_exp(double lambda, double s_max, double width);       // exact
ISENTROPIC_API double uniform_log_mean_exp_edge(double lambda, double s_max, double width);  // as above
ISENTROPIC_API double uniform_scores_entropy(double log_n, double lambda, double width);     // as above

}  // namespace isentropic::theory
