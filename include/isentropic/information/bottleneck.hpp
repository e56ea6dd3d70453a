// The information bottleneck: a code Z of X, with encoder p(z|x), that keeps what X says about Y. Nats.
//
//   maximise  J = I(Z;Y) - beta I(Z;X),   0 < beta < 1             (beta is 1 / beta of Tishby, Pereira & Bialek 1999)
//
// Small beta keeps, large beta compresses; for beta >= beta_c, where beta_c <= 1 (critical_beta.hpp), only the constant
// code is left. The optimum satisfies
//
//   p(z|x) ~ p(z) exp(-KL(p(y|x) || p(y|z)) / beta),   p(z) = sum_x p(x) p(z|x),   p(y|z) = sum_x p(y|x) p(x|z),
//
// and iterating these never lowers J, but converges slowly and to local optima: random starts at small beta fall short,
// and near beta_c the constant code is one. So steps are extrapolated where that raises J; the curve is followed in
// small steps of beta from the identity code; a rare code at the critical input and random codes are tried too, and
// every code found is tried at every beta.
//
// The deterministic bottleneck (Strouse & Schwab 2017) maximises I(Z;Y) - beta H(Z); its codes are functions of x.
//
// The curve I_Y(I_X) is concave, its slope at a point is that point's beta, and it lies under min(I_X, I(X;Y)). Where Y
// is a function of X it is the line I_Y = I_X up to H(Y), and every beta < 1 finds only its end.
// By hand: diag(1/2, 1/2) gives I_X = I_Y = 1 bit for every beta < 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "isentropic/export.hpp"
#include "isentropic/information/table.hpp"

namespace isentropic::information {

enum class BottleneckKind : std::uint8_t { stochastic, deterministic };

struct BottleneckOptions {
  BottleneckKind kind = BottleneckKind::stochastic;
  std::size_t most_iterations = 20000;  // per run at one beta
  double tolerance = 1e-12;             // stop when two iterations raise J by less
  std::size_t random_starts = 4;        // at every beta, in addition to annealing
  std::uint64_t seed = 1;
  std::vector<double> critical_input = {};  // CriticalBeta::input of the joint, if known; empty: computed
};

struct BottleneckCode {
  double beta = 0;
  double information_x = 0;     // I(Z;X)
  double information_y = 0;     // I(Z;Y)
  double entropy = 0;           // H(Z); the price of a deterministic code, for which it equals I(Z;X)
  double objective = 0;         // J
  Table encoder;                // p(z|x): x along the rows; only the codes in use
  std::size_t iterations = 0;   // of the run that found it
  double largest_decrease = 0;  // of J in one iteration; above 1e-10 it indicates a bug
  bool converged = false;       // within most_iterations
};

// One run at one beta from one encoder (rows of probabilities, one row per x). beta > 0.
ISENTROPIC_API BottleneckCode iterate_bottleneck(const Table& joint, double beta, const Table& start,
                                                 const BottleneckOptions& options = {});

struct BottleneckCurve {
  BottleneckKind kind = BottleneckKind::stochastic;
  std::vector<BottleneckCode> points;  // by increasing beta
  double information = 0;              // I(X;Y)
  double entropy_x = 0, entropy_y = 0;

  // What codes of at most `information_x` nats are known to keep: the upper hull of the points, the origin and the
  // identity code, reached by time-sharing between codes. A lower bound on the curve, exact at the points.
  ISENTROPIC_API double information_y_at(double information_x) const;
  // What the objective charges a code for: I(Z;X), or H(Z) for the deterministic kind.
  ISENTROPIC_API double price(const BottleneckCode& code) const;
};

// How well a computed curve agrees with the theory; each number is the largest violation, 0 when there is none.
struct BottleneckDefects {
  double monotone = 0;   // an increase of the price or of I_Y with beta
  double slope = 0;      // dI_Y/dprice between neighbours outside [beta_i, beta_{i+1}]; the curve's concavity
  double ceiling = 0;    // I_Y above min(I_X, I(X;Y))
  double iteration = 0;  // J lowered by an iteration
};
ISENTROPIC_API BottleneckDefects defects(const BottleneckCurve& curve);

// betas: increasing, each in (0, inf). progress receives the fraction of the work done.
ISENTROPIC_API BottleneckCurve bottleneck_curve(const Table& joint, std::span<const double> betas,
                                                const BottleneckOptions& options = {},
                                                const std::function<void(double)>& progress = {});

// ---- The objective as expectations, and its variational bound ----

//   J = H(Y) + E_{p(x,y)} E_{p(z|x)} log p(y|z) - beta E_{p(x)} KL(p(z|x) || p(z))
struct BottleneckTerms {
  double entropy_y = 0;       // H(Y): constant, but without it the two sides differ
  double log_likelihood = 0;  // E log p(y|z), <= 0
  double rate = 0;            // E_x KL(p(z|x) || p(z)) = I(Z;X)
  double information_y = 0;   // I(Z;Y), computed from p(z,y)

  double objective(double beta) const { return entropy_y + log_likelihood - beta * rate; }
};
ISENTROPIC_API BottleneckTerms bottleneck_terms(const Table& joint, const Table& encoder);

// The same with a decoder q(y|z) (z along the rows) and a prior r(z) instead of p(y|z) and p(z): never above J, and
// below it by E_z KL(p(y|z) || q) + beta KL(p(z) || r). Alemi et al. 2017. -inf where q or r gives probability 0 to
// something that occurs.
ISENTROPIC_API double variational_bottleneck(const Table& joint, const Table& encoder, const Table& decoder,
                                             std::span<const double> prior, double beta);

}  // namespace isentropic::information
