// Mutual information as a regulariser: 10.4.18.
#include "experiments/tools/estimate.hpp"
#include "experiments/tools/tabular_code.hpp"
#include "isentropic/information/distribution.hpp"
#include "ledger/bottleneck/problems.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

// Gradient descent on task loss + lambda_x I(X;Z) + lambda_y I(Z;Y).
TabularCode regularised(Check& check, double lambda_x, double lambda_y) {
  return train_code(kRegularisedProblem, {.information_x = lambda_x, .information_y = lambda_y},
                    {.steps = 2500, .learning_rate = .03}, check.random(), check.effort(14, 40));
}

void price_on_information_compresses(Check& check) {
  const std::vector<double> lambdas = {0, .1, .5}, quoted = {1.326, .975, 0};
  double last = 1e9;
  std::int64_t rises = 0;
  for (std::size_t x = 0; x < lambdas.size(); ++x) {
    const double information = regularised(check, lambdas[x], 0).information_x;
    rises += information > last + 1e-6;
    last = information;
    check.near("I(X;Z) at lambda_X = " + short_text(lambdas[x]), information, quoted[x], 1e-3);
  }
  check.never("I(X;Z) rises with lambda_X", rises);
}

void sign_of_lambda_y(Check& check) {
  // Added to the loss with a + sign.
  const std::vector<double> lambdas = {-1, -.5, 0, .5, .9, 1, 2}, quoted = {.2644, .2597, .2429, .2022, 0, 0, 0};
  std::vector<double> kept;
  double error = 0;
  for (double lambda : lambdas) {
    const TabularCode code = regularised(check, .1, lambda);
    kept.push_back(code.information_y);
    error = std::max(error, std::abs(code.loss - entropy(column_marginal(kRegularisedProblem)) -
                                     .1 * code.information_x + (1 - lambda) * code.information_y));
  }
  check.near("trained loss less H(Y) + lambda_X I(X;Z) - (1 - lambda_Y) I(Z;Y), largest", error, 0, 1e-4);
  check.at_least("gain in I(Z;Y) from a term of weight 1/2", kept[check.choose(1U, 3U)] - kept[2], 0);
  for (std::size_t x = 0; x < lambdas.size(); ++x)
    check.near("I(Z;Y) with " + short_text(lambdas[x]) + " I(Z;Y) in the loss", kept[x], quoted[x], 3e-4);
  check.plot({.title = "What a term lambda_Y I(Z;Y) in the loss does (lambda_X = .1)",
              .x_label = "lambda_Y, added to the loss",
              .y_label = "I(Z;Y) after training, nats",
              .curves = {{"measured", lambdas, kept}, {"quoted", lambdas, quoted, report::CurveStyle::formula}}});
}

}  // namespace

std::vector<Claim> regulariser_claims() {
  return {
      computed("000-10.4.18a", Verdict::holds, "A price lambda_X > 0 on I(X;Z) compresses", "",
               price_on_information_compresses),
      computed(
          "000-10.4.18b", Verdict::corrected, "Adding + lambda_Y I(Z;Y) to the loss, lambda_Y > 0, promotes I(Z;Y)",
          "subtract it: with the best decoder the loss is H(Y) + lambda_X I(X;Z) - (1 - lambda_Y) I(Z;Y) as printed",
          sign_of_lambda_y),
  };
}

}  // namespace isentropic::ledger::bottleneck
