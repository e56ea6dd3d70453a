// The exact information bottleneck of jointly Gaussian X and Y (Chechik, Globerson, Tishby & Weiss 2005). Nats; the
// convention of bottleneck.hpp: maximise I(Z;Y) - beta I(Z;X).
//
// The best code is Gaussian, Z = A X + noise of covariance 1, with one component per canonical correlation whose
// rho_i^2 > beta:
//
//   I_X = 1/2 sum_i log( rho_i^2 (1 - beta) / (beta (1 - rho_i^2)) )
//   I_Y = I_X - 1/2 sum_i log( rho_i^2 / beta )
//
// In one dimension I_Y = -1/2 log(1 - rho^2 (1 - e^{-2 I_X})). By hand: rho^2 = 1/2, beta = 1/4 gives I_X = log(3)/2,
// I_Y = log(3/2)/2. Nothing is left for beta >= max rho_i^2.
#pragma once

#include <cstddef>
#include <span>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

struct GaussianBottleneck {
  double information_x = 0, information_y = 0;
  std::size_t components = 0;  // in use
  Table projection;            // A: components x dimension of X; empty if only correlations were given
};

// 0 <= rho_i < 1, any order; beta in (0, inf).
ISENTROPIC_API GaussianBottleneck gaussian_bottleneck(std::span<const double> canonical_correlations, double beta);

// Covariances of X and Y (positive definite) and between them (rows: X).
ISENTROPIC_API GaussianBottleneck gaussian_bottleneck(const Table& covariance_x, const Table& covariance_y,
                                                      const Table& cross_covariance, double beta);

}  // namespace isentropic::information
