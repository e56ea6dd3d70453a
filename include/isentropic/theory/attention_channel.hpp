// What an attention output o = sum_j a_j v_j says about the values, for i.i.d. values. Nats.
//
//   Gaussian, noisy    v_j ~ N(0, v), o + N(0, s):        I(o; v_1 ... v_n) = log(1 + (v / s) sum a^2) / 2
//   coins, noiseless   v_j = 0 or 1, n equal weights:     I(o; v_1 ... v_n) = H(o) = entropy of Binomial(n, 1/2)
//
// They give opposite answers to whether spread-out weights keep more information: sum a^2 is largest for one key, H(o)
// smallest. By hand: s = 0.1, one key of 16: 1.19895; all 16 equally: 0.242754; coins: log 2 for one key, 2.11 for 16.
#pragma once

#include <cstdint>
#include <span>

#include "isentropic/export.hpp"

namespace isentropic::theory {

// signal >= 0: variance of a value; noise > 0: variance of the noise on the output.
ISENTROPIC_API double gaussian_output_information(std::span<const double> a, double signal, double noise);
// n >= 1.
ISENTROPIC_API double coin_output_information(std::int64_t n);

}  // namespace isentropic::theory
