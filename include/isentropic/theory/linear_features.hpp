// Can a scale hold the entropy of linear attention constant? No scale can; sharper features can.
//
// Weights a_j = x_j / sum_i x_i with x_j = phi(q).phi(k_j) >= 0.
//
// 1. A factor on x cancels in the normaliser, whatever it depends on, so lambda(n, d) changes nothing.
// 2. For keys drawn independently from any law with E x log x < inf, the law of large numbers gives
//
//      H  -> log n - D,     D = E[x log x]/E[x] - log E[x] >= 0        participation -> n (E x)^2/E[x^2]
//
//    D does not depend on n: the slope dH/dlog n is 1 for every fixed feature map.
// 3. Any dependence on n must enter before the product. With m non-negative features the row is a mixture
//
//      a = sum_r w_r c_r,   c_r(j) = phi_r(k_j)/sum_i phi_r(k_i),   w_r ~ phi_r(q) sum_i phi_r(k_i)
//
//    so  min_r H(c_r) <= H <= max_r H(c_r) + log m: holding the entropy of the m columns holds that of the row. For
//    phi = exp the column is c_r = softmax_j(k_jr), an ordinary softmax row, so multiplying the keys by tau(n) sharpens
//    each column as lambda sharpens a softmax: independent Gaussian coordinates with standard deviation sigma need
//    tau sigma = c sqrt(2 log n), c > 1 (random_energy.hpp), and the cost stays O(n).
// 4. A power of the weights, a ~ x^gamma(n), is softmax(gamma log x) and obeys the laws of scale_laws.hpp in log x; for
//    integer gamma it needs m^gamma features.
//
// Nats. By hand: x uniform on {1, 3}: D = (3 log 3)/4 - log 2 = 0.13081.
#pragma once

#include <span>

#include "isentropic/export.hpp"

namespace isentropic::theory {

// D of the uniform distribution over values x >= 0, not all 0.
ISENTROPIC_API double entropy_deficit(std::span<const double> x);
// D of x = e^g, g Gaussian with standard deviation sigma (one exp feature): sigma^2/2.
ISENTROPIC_API double lognormal_entropy_deficit(double sigma);
// The tau of statement 3, which holds the entropy of each exp-feature column at `entropy` in the limit of many keys.
ISENTROPIC_API double feature_sharpening(double log_n, double entropy, double sigma = 1);

}  // namespace isentropic::theory
