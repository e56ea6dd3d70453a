// Sections 19 and 20: what was observed in training, and the entropy as a loss term.
#include <algorithm>
#include <cmath>

#include "isentropic/information/distribution.hpp"
#include "isentropic/softmax_loss.hpp"
#include "isentropic/theory/simplex.hpp"
#include "ledger/attention_entropy/descent.hpp"
#include "ledger/attention_entropy/quoted_draws.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

void sign_of_the_term(Check& check) {
  const std::vector<double>& start = kDescentStart;
  const int steps = 2000;
  const double before = entropy_of(start), with_plus = entropy_of(descend_entropy(start, 0.5, 0.5, steps));
  check.near("sign of the change of H under L + 0.5 H", with_plus > before ? 1 : -1, check.choose(-1.0, 1.0), 0);
  check.near("H before, quoted", before, 2.0546, 5e-5);
  check.near("H after descent on + 0.5 H, quoted", with_plus, 0.0022, 5e-5);
  check.near("H after descent on - 0.5 H", entropy_of(descend_entropy(start, -0.5, 0.5, steps)), std::log(10.0), 1e-4);
  const std::vector<double> kernel = entropy_gradient_of(start), closed = natural_entropy_gradient(weights_of(start));
  double worst = 0, by_difference = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    std::vector<double> up = start, down = start;
    up[i] += 1e-5, down[i] -= 1e-5;
    worst = std::max(worst, std::abs(kernel[i] - closed[i]));
    by_difference = std::max(by_difference, std::abs((entropy_of(up) - entropy_of(down)) / 2e-5 - closed[i]));
  }
  check.near("backward pass - (-a (log a + H)), worst", worst, 0, 1e-14);
  check.near("differences - (-a (log a + H)), worst", by_difference, 0, 1e-9);
}

void label_smoothing(Check& check) {
  const std::size_t n = 10;
  const double eps = 0.1, one = 1;
  const std::int64_t target = 2;
  const std::vector<double> scores = check.random().normals(n, 2);
  const SoftmaxLossResult result = softmax_loss({.query = View(&one, {1, 1}),
                                                 .key = View(scores.data(), {10, 1}),
                                                 .target = View(&target, {1}),
                                                 .executor = &serial_executor()});
  double mean = 0;
  for (double s : scores) mean += s / static_cast<double>(n);
  const double plain = result.loss[0];
  const double smoothed = (1 - eps) * plain + eps * (log_partition(result.records[0]) - mean);
  const std::vector<double> p = weights_of(scores), u(n, 0.1);
  const double divergence = check.choose(kl_divergence(u, p), kl_divergence(p, u));
  check.near("smoothed loss against (1 - e) loss + e (KL + log n)", smoothed,
             (1 - eps) * plain + eps * (divergence + std::log(10.0)), 1e-12);
  check.near("log n - H(p) against KL(p || u)", std::log(10.0) - entropy_of(scores), kl_divergence(p, u), 1e-12);
}

}  // namespace

std::vector<Claim> regularisation_claims() {
  return {
      study_on_libtorch(
          "001-s19",
          "Entropy falls fast, then settles; deep layers have less of it; a late fall is a sign of overfitting",
          "in small language models; layers and overfitting are shown, and not judged"),
      computed("001-76", Verdict::corrected, "In a loss L + lambda H a positive lambda favours high entropy",
               "minimising it lowers H; for high entropy use L - lambda H. dH/ds = -a (log a + H)", sign_of_the_term),
      study_on_libtorch("001-s20", "High-entropy terms prevent overfitting, low-entropy ones speed convergence",
                        "the terms move the entropy as they should; what that does to losses is shown, and not judged"),
      computed("001-s20b", Verdict::holds_if, "Label smoothing is an entropy regulariser",
               "with the divergence KL(u || p); a bonus on the entropy of p is the other one, KL(p || u)",
               label_smoothing),
  };
}

}  // namespace isentropic::ledger::attention_entropy
