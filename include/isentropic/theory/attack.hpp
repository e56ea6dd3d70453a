// The worst perturbation of attention scores, exactly.
//
// An attacker adds delta to the scores, within a budget |delta| <= eps, to move the output as far as possible along a
// direction u. With x_i = <v_i, u>, w_i = e^{s_i} and f(delta) = sum_i w_i e^delta_i x_i / sum_i w_i e^delta_i, it
// maximises f(delta) - f(0). To first order f moves along g_i = a_i (x_i - o), so the best direction depends on the
// norm:
//
//   |delta|_inf <= eps    eps sign(g_i)
//   |delta|_2   <= eps    eps g / |g|_2
//   |delta|_1   <= eps    eps sign(g_k) at k = argmax |g|, 0 elsewhere
//
// For larger eps these are suboptimal. The maximum t* of a ratio is where max_delta sum_i c_i e^delta_i = 0 with
// c_i = w_i (x_i - t*), found by Dinkelbach's iteration t <- f(best delta for t), which increases monotonically to t*:
//
//   inf   delta_i = eps sign(x_i - t): a threshold at the attained value itself
//   l2    c_i e^delta_i = 2 mu delta_i: one multiplier mu; only the largest c_i can have delta_i above 1
//   l1    all of eps on the largest c_i > 0, or all of it on the c_i < 0, lowered to a common level -c_i e^delta_i
//
// By hand: s = (0, 0), x = (1, -1): f = tanh((delta_1 - delta_2) / 2), so the gains are tanh(eps), tanh(eps / sqrt 2)
// and tanh(eps / 2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::theory {

// The norm limited by the budget.
enum class Budget : std::uint8_t { infinity, euclidean, absolute };

struct ISENTROPIC_API Attack {
  std::vector<double> change;  // delta
  double gain = 0;             // f(delta) - f(0)
};

// |delta| in the budget's norm; 0 when empty.
ISENTROPIC_API double size_in(Budget budget, std::span<const double> change);
// x_i = <v_i, u>.
ISENTROPIC_API std::vector<double> projections(const information::Table& values, std::span<const double> direction);
// g_i = a_i (x_i - sum_j a_j x_j), the gradient of <o, u> in the scores.
ISENTROPIC_API std::vector<double> output_gradient(std::span<const double> scores, std::span<const double> x);

// The first-order optimum; all zero if the gradient is zero.
ISENTROPIC_API Attack first_order_attack(std::span<const double> scores, std::span<const double> x, Budget budget,
                                         double eps);
// The optimum for any eps >= 0.
ISENTROPIC_API Attack exact_attack(std::span<const double> scores, std::span<const double> x, Budget budget,
                                   double eps);
// f(change) - f(0) for any change.
ISENTROPIC_API double attack_gain(std::span<const double> scores, std::span<const double> x,
                                  std::span<const double> change);

// Without a direction: maximises |o(s + delta) - o(s)| itself, to first order under |delta|_2 <= eps: eps times the top
// right-singular vector of the output's Jacobian; the gain is eps times its singular value.
ISENTROPIC_API Attack norm_attack(std::span<const double> scores, const information::Table& values, double eps);

}  // namespace isentropic::theory
