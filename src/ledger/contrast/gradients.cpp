// InfoNCE's loss for one anchor, and the gradient that moves the anchor.
#include <algorithm>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/theory/contrast.hpp"
#include "ledger/contrast/one_anchor.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

void loss_of_an_anchor(Check& check) {
  for (double temperature : kTemperatures) {
    const Case c = random_case(check.random(), temperature);
    double sum = 0;
    for (std::size_t j = 0; j < 9; ++j) sum += std::exp(dot(c.query, c.keys.row(j)) / temperature);
    check.near("loss" + at_tau(temperature), c.loss(), std::log(sum) - dot(c.query, c.keys.row(0)) / temperature,
               1e-11);
  }
}

void gradient_of_the_query(Check& check) {
  for (double temperature : kTemperatures) {
    double kernel = 0, numeric = 0;
    for (int t = 0; t < 20; ++t) {
      const Case c = random_case(check.random(), temperature);
      const Vector expected = contrast_gradients(c.query, c.keys, 0, temperature).query;
      kernel = std::max(kernel, relative_gap(gradients_of(c.contrast()).query.values, expected));
      numeric = std::max(numeric, relative_gap(query_slopes(c), expected));
    }
    check.near("backward pass, relative error" + at_tau(temperature), kernel, 0, 1e-10);
    check.near("central differences, relative error" + at_tau(temperature), numeric, 0, 1e-6);
  }
}

void probabilities(Check& check) {
  for (double temperature : kTemperatures) {
    const Case c = random_case(check.random(), temperature);
    double sum = 0, lowest = 1;
    for (double p : c.weights()) sum += p, lowest = std::min(lowest, p);
    Vector scores;
    for (std::size_t j = 0; j < 9; ++j) scores.push_back(dot(c.query, c.keys.row(j)) / temperature);
    check.near("weights less the softmax of the scores" + at_tau(temperature),
               largest_gap(c.weights(), softmax_by_hand(scores)), 0, 1e-12);
    check.near("sum" + at_tau(temperature), sum, 1, 1e-12);
    check.at_least("lowest" + at_tau(temperature), lowest, 0);
  }
}

}  // namespace

std::vector<Claim> gradient_claims() {
  return {
      computed("002-4.4.11", Verdict::holds, "The loss of one anchor is log sum_j e^{q.k_j / tau} - q.k_+ / tau",
               "q is the code of the anchor, not of the positive", loss_of_an_anchor),
      computed("002-4.4.12-14", Verdict::holds, "dL/dq = (E_P[k] - k_+) / tau", "", gradient_of_the_query),
      computed("002-4.4.13", Verdict::holds, "P is the softmax of the scores over positive and negatives", "",
               probabilities),
  };
}

}  // namespace isentropic::ledger::contrast
