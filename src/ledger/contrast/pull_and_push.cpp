// InfoNCE's gradients in words: pull, push, prediction minus truth.
#include <algorithm>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "ledger/contrast/one_anchor.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// E_P[k] - k_+ = (1 - P_+) (mean of the negatives - k_+)
void pull_and_push_on_the_query(Check& check) {
  double gap = 0;
  std::int64_t away = 0;
  for (int t = 0; t < 50; ++t) {
    const Case c = random_case(check.random(), 0.2);
    Vector negatives(6, 0.0);
    for (std::size_t j = 1; j < 9; ++j)
      for (std::size_t i = 0; i < 6; ++i) negatives[i] += c.weights()[j] / (1 - c.weights()[0]) * c.keys(j, i);
    const Vector towards = combined(1, negatives, -1, c.keys.row(0));
    const Vector measured = gradients_of(c.contrast()).query.values;
    gap = std::max(gap, largest_gap(measured, times((1 - c.weights()[0]) / c.temperature, towards)));
    // A step against the gradient goes nearer to k_+ than to the mean of the negatives.
    away += dot(measured, towards) < 0;
  }
  check.near("gradient less (1 - P_+)(mean negative - k_+) / tau", gap, 0, 1e-12);
  check.never("steps that lead away from k_+ and towards the negatives", away);
}

// Where k_+ goes under gradient descent: along q, and not against the gradient of q.
void what_moves_the_positive(Check& check) {
  double worst = 1;
  for (std::int64_t t = 0; t < check.effort(5, 50); ++t) {
    const Case c = random_case(check.random(), 0.5);
    const Vector motion = times(-1, key_slopes(c, 0));
    worst = std::min(worst, cosine(motion, check.choose(c.query, times(-1, gradients_of(c.contrast()).query.values))));
  }
  check.near("lowest cosine between k_+'s motion and the named direction", worst, 1, 1e-9);
}

void weight_of_the_pull(Check& check) {
  double gap = 0, balance = 0;
  for (std::int64_t t = 0; t < check.effort(5, 50); ++t) {
    const Case c = random_case(check.random(), 0.2);
    const double pull = norm(key_slopes(c, 0)) * c.temperature;
    gap = std::max(gap, std::abs(pull - check.choose(1 - c.weights()[0], c.weights()[0])));
    const Table keys = gradients_of(c.contrast()).key;
    double push = 0;
    for (std::size_t j = 1; j < 9; ++j) push += norm(keys.row(j));
    balance = std::max(balance, std::abs(norm(keys.row(0)) - push));
  }
  check.near("tau |dL/dk_+| less the weight", gap, 0, 1e-7);
  check.near("pull on k_+ less the sum of the pushes", balance, 0, 1e-12);
  // Nine scores, drawn once.
  const Case quoted{
      {1},
      Table(9, 1,
            {1.9915510067258073, 1.8196582342784895, 0.03821668902404811, 0.019370606036478444, 1.3177507825145214,
             -0.2936752809079282, 3.6699361600068103, 2.2869225565336038, -2.0531132761707505})};
  const Vector gradients = gradients_of(quoted.contrast()).key.values;
  double pushes = 0;
  for (std::size_t j = 1; j < 9; ++j) pushes += gradients[j];
  check.near("pull of the quoted case", -gradients[0], 0.8942, 5e-5);
  check.near("its pushes", pushes, 0.8942, 5e-5);
}

void push_on_a_negative(Check& check) {
  double size = 0, direction = 1;
  for (std::int64_t t = 0; t < check.effort(3, 20); ++t) {
    const Case c = random_case(check.random(), 0.2);
    for (std::size_t j = 1; j < 9; ++j) {
      const Vector slopes = key_slopes(c, j);
      size = std::max(size, std::abs(norm(slopes) - c.weights()[j] / c.temperature));
      if (c.weights()[j] > 1e-3) direction = std::min(direction, cosine(slopes, c.query));
    }
  }
  check.near("|dL/dk_-| less P_- |q| / tau", size, 0, 1e-7);
  check.near("lowest cosine with q", direction, 1, 1e-9);
}

// Weights of a cross-entropy with soft targets: one row per class, weighted by its target.
void prediction_less_truth(Check& check) {
  const Vector prediction = check.random().normals(5), truth = check.random().normals(5);
  const Vector slopes = numeric_gradient(prediction, [&](const Vector& x) {
    double sum = 0;
    for (std::size_t i = 0; i < 5; ++i) sum += (x[i] - truth[i]) * (x[i] - truth[i]) / 5;
    return sum;
  });
  check.near("squared error: gradient less 2 (prediction - truth) / n",
             largest_gap(slopes, times(2.0 / 5, combined(1, prediction, -1, truth))), 0, 1e-8);
  const Vector logits = check.random().normals(7), target = check.random().probabilities(7);
  Contrast rows{Table(7, 1, 1.0), Table(7, 1, logits), {0, 1, 2, 3, 4, 5, 6}};
  check.near("cross-entropy: gradient less p_hat - p",
             largest_gap(gradients_of(rows, target).key.values, combined(1, softmax_by_hand(logits), -1, target)), 0,
             1e-12);
  // Not a law for all losses: absolute error and hinge have slopes of fixed size.
  const auto slope_of = [](const auto& loss, double at) { return (loss(at + 1e-6) - loss(at - 1e-6)) / 2e-6; };
  const auto absolute = [](double error) { return std::abs(error); };
  const auto hinge = [](double margin) { return std::max(0.0, 1 - margin); };
  for (int error : {-20, -1, 10})
    check.near("absolute error: slope at " + std::to_string(error), slope_of(absolute, error), error < 0 ? -1 : 1,
               1e-8);
  check.near("hinge: slope below the margin", slope_of(hinge, 0.3), -1, 1e-8);
  check.near("hinge: slope beyond it", slope_of(hinge, 1.7), 0, 1e-8);
  // A canonical link that is neither: Poisson counts with rate e^z and loss e^z - y z.
  check.near("Poisson: slope less rate - count", slope_of([](double z) { return std::exp(z) - 3 * z; }, 0.4),
             std::exp(0.4) - 3, 1e-8);
}

}  // namespace

std::vector<Claim> pull_and_push_claims() {
  return {
      computed("002-4.4.17a", Verdict::holds, "Descent moves q towards k_+ and away from the weighted negatives",
               "E_P[k] - k_+ = (1 - P_+)(mean negative - k_+)", pull_and_push_on_the_query),
      computed("002-4.4.17b", Verdict::corrected, "The gradient of q also pulls k_+ towards q",
               "the gradient of q moves q; k_+ moves by its own, along q", what_moves_the_positive),
      computed("002-4.4.2-txt1", Verdict::corrected, "The pull on k_+ has the weight P_+",
               "1 - P_+, which is also the sum of the pushes on the negatives", weight_of_the_pull),
      computed("002-4.4.2-txt2", Verdict::holds, "Each negative is pushed in proportion to its probability",
               "in the direction of q, by P_- |q| / tau", push_on_a_negative),
      computed("002-4.4.2-txt3", Verdict::holds,
               "The gradients of squared error and cross-entropy are prediction less truth",
               "so for likelihoods with their canonical link; absolute error and hinge are not", prediction_less_truth),
  };
}

}  // namespace isentropic::ledger::contrast
