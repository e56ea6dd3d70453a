// The entropy of softmax(s / tau) as a function of the temperature tau. Nats.
//
//   dH/dtau = Var_p(s) / tau^3  >= 0,             p = softmax(s / tau)
//   tau -> 0:    H -> log k,                      k keys tie for the maximum; a unique one gives 0
//   tau -> inf:  H = log n - sum_{j>=2} (j - 1) K_j / (j! tau^j)
//                  = log n - K_2 / (2 tau^2) - K_3 / (3 tau^3) - K_4 / (8 tau^4) - ...
//
// K_j are the cumulants of the n scores, each with weight 1/n (K_2 their variance). The series is that of
// H = log n + K(b) - b K'(b) with K(b) = log mean e^{b s}, b = 1 / tau.
//
// By hand: s = (0, 1), tau = 1: Var_p = p (1 - p) = 0.19661 = dH/dtau; s = (1, 1, 0): H -> log 2 as tau -> 0; s = (0,
// 1), tau = 10: log 2 - 0.25 / 200 + (1/8) / 80000 = 0.69189874.
#pragma once

#include <cstdint>
#include <span>

#include "isentropic/export.hpp"

namespace isentropic::theory {

// dH/dtau; tau > 0.
ISENTROPIC_API double entropy_slope_in_temperature(std::span<const double> scores, double tau);

// log k.
ISENTROPIC_API double zero_temperature_entropy(std::span<const double> scores);

// The highest order of the series that is kept.
enum class HighTemperatureOrder : std::uint8_t { second = 2, third = 3, fourth = 4 };
ISENTROPIC_API double high_temperature_entropy(std::span<const double> scores, double tau,
                                               HighTemperatureOrder order = HighTemperatureOrder::fourth);

}  // namespace isentropic::theory
