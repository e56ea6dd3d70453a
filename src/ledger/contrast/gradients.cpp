// InfoNCE's gradients: what moves the query, the positive key and the negatives.
#include <algorithm>

#include "instruments/estimate.hpp"
#include "instruments/kernels.hpp"
#include "isentropic/theory/contrast.hpp"
#include "ledger/contrast/losses.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// One anchor and N unit keys, the first of them its positive.
struct Case {
  Vector query;
  Table keys;
  double temperature = 1;
  Vector weights;   // P
  Vector mean_key;  // E_P[k]

  Contrast contrast() const { return one_anchor(query, keys, temperature); }
  double loss() const { return losses_of(contrast())[0]; }
};

Case random_case(Random& random, double temperature, std::size_t n = 9, std::size_t d = 6) {
  Table query(1, d, random.normals(d)), keys(n, d, random.normals(n * d));
  normalise_rows(&query);
  normalise_rows(&keys);
  Case out{query.values, keys, temperature, {}, {}};
  AttentionProblem options;
  options.scale = Scale::constant(1 / temperature);
  out.weights = weights_of(query, keys, options).values;
  out.mean_key = table_of(attend(query, keys, keys, options).output).values;
  return out;
}

Vector query_slopes(const Case& c) {
  return numeric_gradient(c.query, [&](const Vector& q) { return losses_of(one_anchor(q, c.keys, c.temperature))[0]; });
}

// Central differences in all coordinates of key j.
Vector key_slopes(const Case& c, std::size_t j) {
  const auto row = c.keys.row(j);
  return numeric_gradient({row.begin(), row.end()}, [&](const Vector& key) {
    Case moved = c;
    std::copy(key.begin(), key.end(), moved.keys.row(j).begin());
    return moved.loss();
  });
}

// a x + b y
Vector combined(double a, std::span<const double> x, double b, std::span<const double> y) {
  Vector out = times(a, x);
  for (std::size_t c = 0; c < out.size(); ++c) out[c] += b * y[c];
  return out;
}

constexpr double kTemperatures[] = {0.07, 0.2, 1.0, 5.0};
std::string at_tau(double temperature) { return ", tau = " + std::to_string(temperature).substr(0, 4); }

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
    for (std::int64_t t = 0; t < check.effort(5, 20); ++t) {
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
    for (double p : c.weights) sum += p, lowest = std::min(lowest, p);
    check.near("sum" + at_tau(temperature), sum, 1, 1e-12);
    check.at_least("lowest" + at_tau(temperature), lowest, 0);
  }
}

// (P_+ - 1) q / tau, or as printed (q - E[k]) P_+ / tau.
Vector positive_key_gradient(const Check& check, const Case& c) {
  const Table gradients = contrast_gradients(c.query, c.keys, 0, c.temperature).key;
  const Vector sound(gradients.row(0).begin(), gradients.row(0).end());
  const double share = c.weights[0] / c.temperature;
  return check.choose(sound, combined(share, c.query, -share, c.mean_key));
}

// P_j q / tau, or as printed (E[k] - q) P_j / tau.
Vector negative_key_gradient(const Check& check, const Case& c, std::size_t j) {
  const Table gradients = contrast_gradients(c.query, c.keys, 0, c.temperature).key;
  const Vector sound(gradients.row(j).begin(), gradients.row(j).end());
  const double share = c.weights[j] / c.temperature;
  return check.choose(sound, combined(share, c.mean_key, -share, c.query));
}

void gradient_of_the_positive(Check& check) {
  for (double temperature : kTemperatures) {
    Mean gap;
    for (std::int64_t t = 0; t < check.effort(5, 20); ++t) {
      const Case c = random_case(check.random(), temperature);
      gap.add(relative_gap(positive_key_gradient(check, c), key_slopes(c, 0)));
    }
    check.near("mean relative error against differences" + at_tau(temperature), gap.mean(), 0, 1e-6);
  }
  // A small step against the gradient must lower the loss.
  std::int64_t raised = 0;
  for (std::int64_t t = 0; t < check.effort(200, 2000); ++t) {
    Case c = random_case(check.random(), 0.2);
    const double before = c.loss();
    const Vector gradient = positive_key_gradient(check, c);
    for (std::size_t i = 0; i < 6; ++i) c.keys(0, i) -= 1e-4 * gradient[i];
    raised += c.loss() > before;
  }
  check.never("steps of 1e-4 against it that raise the loss", raised);
  // P_+ = 1 - 1e-7: nothing is left to learn.
  Case c{{1, 0, 0, 0}, {{0.8, 0.6, 0, 0}, {-1, 0, 0, 0}, {0, 0, 1, 0}}, 0.05, {}, {}};
  const Contrast contrast = c.contrast();
  AttentionProblem options;
  options.scale = Scale::constant(1 / c.temperature);
  c.weights = weights_of(contrast.query, c.keys, options).values;
  c.mean_key = table_of(attend(contrast.query, c.keys, c.keys, options).output).values;
  check.near("its length at P_+ = 1 - 1e-7", norm(positive_key_gradient(check, c)), 2e-6, 5e-7);
  // Two unit keys, one along q and one across: P_+ = 1 / (1 + e^{-1/tau}).
  report::PlotCurve sound{"(1 - P_+) / tau", {}, {}, report::CurveStyle::formula}, measured{"differences", {}, {}},
      printed{"|q - E[k]| P_+ / tau, as printed", {}, {}, report::CurveStyle::formula};
  for (double tau = 0.1; tau < 3; tau *= 1.3) {
    const Case pair{{1, 0}, {{1, 0}, {0, 1}}, tau, {}, {}};
    const double p = 1 / (1 + std::exp(-1 / tau));
    for (report::PlotCurve* curve : {&sound, &measured, &printed}) curve->x.push_back(tau);
    sound.y.push_back((1 - p) / tau);
    measured.y.push_back(norm(key_slopes(pair, 0)));
    printed.y.push_back(std::sqrt(2) * (1 - p) * p / tau);
  }
  check.plot({"Length of dL/dk_+ for one negative across q",
              "tau",
              "length",
              report::PlotScale::log,
              report::PlotScale::linear,
              {sound, measured, printed}});
}

void gradient_of_the_negatives(Check& check) {
  for (double temperature : kTemperatures) {
    Mean gap;
    double sum = 0;
    for (std::int64_t t = 0; t < check.effort(3, 20); ++t) {
      const Case c = random_case(check.random(), temperature);
      Vector all, slopes, total(6, 0.0);
      for (std::size_t j = 0; j < 9; ++j) {
        const Vector numeric = key_slopes(c, j);
        for (std::size_t i = 0; i < 6; ++i) total[i] += numeric[i];
        if (j == 0) continue;
        const Vector gradient = negative_key_gradient(check, c, j);
        all.insert(all.end(), gradient.begin(), gradient.end());
        slopes.insert(slopes.end(), numeric.begin(), numeric.end());
      }
      gap.add(relative_gap(all, slopes));
      sum = std::max(sum, norm(total));
    }
    check.near("mean relative error against differences" + at_tau(temperature), gap.mean(), 0, 1e-6);
    check.near("sum over all keys" + at_tau(temperature), sum, 0, 1e-7);
  }
  std::int64_t raised = 0;
  for (std::int64_t t = 0; t < check.effort(200, 2000); ++t) {
    Case c = random_case(check.random(), 0.2);
    const Case at = c;
    for (std::size_t j = 1; j < 9; ++j) {
      const Vector gradient = negative_key_gradient(check, at, j);
      for (std::size_t i = 0; i < 6; ++i) c.keys(j, i) -= 1e-4 * gradient[i];
    }
    raised += c.loss() > at.loss();
  }
  check.never("steps of 1e-4 against it that raise the loss", raised);
}

// E_P[k] - k_+ = (1 - P_+) (mean of the negatives - k_+)
void pull_and_push_on_the_query(Check& check) {
  double gap = 0;
  std::int64_t away = 0;
  for (int t = 0; t < 50; ++t) {
    const Case c = random_case(check.random(), 0.2);
    Vector negatives(6, 0.0);
    for (std::size_t j = 1; j < 9; ++j)
      for (std::size_t i = 0; i < 6; ++i) negatives[i] += c.weights[j] / (1 - c.weights[0]) * c.keys(j, i);
    const Vector towards = combined(1, negatives, -1, c.keys.row(0));
    const Vector measured = gradients_of(c.contrast()).query.values;
    gap = std::max(gap, largest_gap(measured, times((1 - c.weights[0]) / c.temperature, towards)));
    // A step against the gradient: nearer to k_+ than to the mean of the negatives.
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
    gap = std::max(gap, std::abs(pull - check.choose(1 - c.weights[0], c.weights[0])));
    const Table keys = gradients_of(c.contrast()).key;
    double push = 0;
    for (std::size_t j = 1; j < 9; ++j) push += norm(keys.row(j));
    balance = std::max(balance, std::abs(norm(keys.row(0)) - push));
  }
  check.near("tau |dL/dk_+| less the weight", gap, 0, 1e-7);
  check.near("pull on k_+ less the sum of the pushes", balance, 0, 1e-12);
}

void push_on_a_negative(Check& check) {
  double size = 0, direction = 1;
  for (std::int64_t t = 0; t < check.effort(3, 20); ++t) {
    const Case c = random_case(check.random(), 0.2);
    for (std::size_t j = 1; j < 9; ++j) {
      const Vector slopes = key_slopes(c, j);
      size = std::max(size, std::abs(norm(slopes) - c.weights[j] / c.temperature));
      if (c.weights[j] > 1e-3) direction = std::min(direction, cosine(slopes, c.query));
    }
  }
  check.near("|dL/dk_-| less P_- |q| / tau", size, 0, 1e-7);
  check.near("lowest cosine with q", direction, 1, 1e-9);
}

// Weights of a cross-entropy with soft targets: one row for each class, weighted by its target.
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
  // Not a law of all losses: the absolute error has the sign of the difference alone.
  const Vector far = {prediction[0] + 10, prediction[0] + 20};
  const auto absolute = [&](double x) { return std::abs(prediction[0] - x); };
  check.near("absolute error: slope at 10 less slope at 20",
             (absolute(far[0] + 1e-3) - absolute(far[0])) - (absolute(far[1] + 1e-3) - absolute(far[1])), 0, 1e-12);
}

}  // namespace

std::vector<Claim> gradient_claims() {
  return {
      computed("002-4.4.11", Verdict::holds, "The loss of one anchor is log sum_j e^{q.k_j / tau} - q.k_+ / tau",
               "q is the code of the anchor, not of the positive", loss_of_an_anchor),
      computed("002-4.4.12-14", Verdict::holds, "dL/dq = (E_P[k] - k_+) / tau", "", gradient_of_the_query),
      computed("002-4.4.13", Verdict::holds, "P is the softmax of the scores over positive and negatives", "",
               probabilities),
      computed("002-4.4.15", Verdict::corrected, "dL/dk_+ = (q - E_P[k]) P_+ / tau",
               "(P_+ - 1) q / tau; for unit vectors the printed one always points uphill", gradient_of_the_positive),
      computed("002-4.4.16", Verdict::corrected, "dL/dk_- = (E_P[k] - q) P_- / tau",
               "P_- q / tau; the gradients of all keys add up to 0", gradient_of_the_negatives),
      computed("002-4.4.17a", Verdict::holds, "Descent moves q towards k_+ and away from the weighted negatives",
               "E_P[k] - k_+ = (1 - P_+)(mean negative - k_+)", pull_and_push_on_the_query),
      computed("002-4.4.17b", Verdict::corrected, "That same gradient pulls k_+ towards q",
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
