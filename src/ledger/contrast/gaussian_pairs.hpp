// InfoNCE on correlated normal pairs, whose mutual information is known: I = -d log(1 - rho^2) / 2.
#pragma once

#include "ledger/check.hpp"
#include "ledger/contrast/losses.hpp"

namespace isentropic::ledger::contrast {

// f(x, y) = cross x.y + square |x|^2; terms that depend only on the anchor y cancel.
struct GaussianCritic {
  double cross = 0, square = 0;

  // The pointwise mutual information, up to a term that depends only on the anchor.
  static GaussianCritic optimal(double rho) {
    const double cross = rho / (1 - rho * rho);
    return {cross, -rho * cross / 2};
  }
};

inline double gaussian_information(double rho, double d) { return -0.5 * d * std::log(1 - rho * rho); }

// N pairs: anchors y along the rows, and the candidates x of the same batch as keys.
Contrast gaussian_batch(Random& random, double rho, std::size_t d, std::size_t n, const GaussianCritic& critic);

struct GaussianBound {
  Estimate estimate;         // of E[log N - L]
  double largest_batch = 0;  // the largest log N - L of a batch
};

// log N - L over at least `anchors` anchors in batches of N. The information density log p(x, y) / (p(x) p(y)) of the
// positives, with mean I, their x.y and |y|^2 are control variates. Rows of a batch share their candidates, so the
// error is that of the batch means; that of the rows is added, because a few batches say little about their spread.
GaussianBound gaussian_bound(Random& random, double rho, std::size_t d, std::size_t n, const GaussianCritic& critic,
                             std::int64_t anchors);

}  // namespace isentropic::ledger::contrast
