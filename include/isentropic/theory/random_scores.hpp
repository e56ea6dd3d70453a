// The softmax row of n independent random scores: exact expectations at every n, from two nested integrals.
//
// With Z = sum_j e^{lambda s_j} and phi(t) = E exp(-t e^{lambda s}) of one score, independence gives
// E e^{-tZ} = phi(t)^n, and from 1/Z = int e^{-tZ} dt, log Z = int (e^{-t} - e^{-tZ}) dt/t, at t = e^{-x}:
//
//   E log Z      = int (e^{-e^{-x}} - phi^n) dx
//   E E_p s      = int phi^{n-1} n t E[s e^{lambda s} exp(-t e^{lambda s})] dx
//   E sum p^2    = int phi^{n-1} n t^2 E[e^{2 lambda s} exp(-t e^{lambda s})] dx
//   E H          = E log Z - lambda E E_p s
//
// No limit is taken: both phases of the random energy model and the crossover between them are covered. A planted key
// of known score a multiplies phi^n by exp(-t e^{lambda a}), and its expected weight is another such integral.
//
// Nats. n enters as log n, so that n = 10^300 is as easy as n = 10 (n need not be an integer). By hand: lambda = 0
// gives H = log n and sum p^2 = 1/n. Accuracy is about 1e-9 as long as lambda times the width of the scores is below a
// few hundred.
#pragma once

#include <cstdint>
#include <optional>

#include "isentropic/export.hpp"

namespace isentropic::theory {

// The distribution of one score.
struct ISENTROPIC_API ScoreLaw {
  enum class Kind : std::uint8_t { gaussian, cosine, exponential, uniform };
  Kind kind = Kind::gaussian;
  double parameter = 1;

  static ScoreLaw gaussian(double sigma = 1);  // N(0, sigma^2)
  static ScoreLaw cosine(double d);            // d cos(theta) of random directions in R^d, d > 1
  static ScoreLaw exponential();               // density e^{-s}, s > 0
  static ScoreLaw uniform();                   // on [0, 1]
};

// Expectations over the draws of the scores.
struct ExpectedRow {
  double log_partition = 0;
  double mean_score = 0;  // of s, not of lambda s
  double entropy = 0;
  double collision = 0;
  double planted = 0;  // the weight of the planted key; 0 without one
};

// n = e^{log_n} random scores, plus the planted one if given. log_n >= 0, lambda >= 0; Error otherwise.
ISENTROPIC_API ExpectedRow expected_row(const ScoreLaw& law, double log_n, double lambda,
                                        std::optional<double> planted_score = {});

// The lambda whose expected entropy is `entropy`, 0 < entropy < log_n: solved to 1e-10.
ISENTROPIC_API double scale_for_entropy(const ScoreLaw& law, double log_n, double entropy);

}  // namespace isentropic::theory
