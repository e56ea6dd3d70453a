// Section 10: the simplex of weights, its metric, and the directions in which the entropy rises.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "experiments/tools/algebra.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "isentropic/theory/simplex.hpp"
#include "ledger/attention_entropy/quoted_draws.hpp"
#include "ledger/attention_entropy/subjects.hpp"

namespace isentropic::ledger::attention_entropy {
namespace {

using Vector = std::vector<double>;
using Family = std::function<Vector(const Vector&)>;

const Vector kWeights = {0.5, 0.3, 0.15, 0.05};

double sum_of(const Vector& x) { return std::accumulate(x.begin(), x.end(), 0.0); }
double cosine(const Vector& x, const Vector& y) { return dot(x, y) / std::sqrt(dot(x, x) * dot(y, y)); }

Vector logarithms(Vector x) {
  for (double& y : x) y = std::log(y);
  return x;
}

Vector plus(Vector x, double step, const Vector& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += step * y[i];
  return x;
}

Vector towards_uniform(const Vector& a) { return plus(Vector(a.size(), 1 / static_cast<double>(a.size())), -1, a); }

Vector without_mean(Vector x) {
  const double mean = sum_of(x) / static_cast<double>(x.size());
  for (double& y : x) y -= mean;
  return x;
}

void simplex(Check& check) {
  std::int64_t negative = 0;
  double off = 0;
  for (std::int64_t t = 0; t < check.effort(500, 5000); ++t) {
    const Vector a = weights_of(check.random().normals(static_cast<std::size_t>(check.random().integer(1, 50)), 4));
    negative += std::count_if(a.begin(), a.end(), [](double x) { return x < 0; });
    off = std::max(off, std::abs(sum_of(a) - 1));
  }
  check.never("negative weights", negative);
  check.near("sum of weights - 1, worst", off, 0, 1e-13);
}

void height_over_simplex(Check& check) {
  double worst = 0;
  for (std::int64_t t = 0; t < check.effort(300, 3000); ++t) {
    const auto n = static_cast<std::size_t>(check.random().integer(2, 50));
    const Vector scores = check.random().normals(n, 3), a = weights_of(scores), u(n, 1 / static_cast<double>(n));
    const double h = entropy_of(scores), log_n = std::log(static_cast<double>(n));
    worst = std::max({worst, std::abs(h - (log_n - kl_divergence(a, u))), std::abs(h - (log_n - kl_to_uniform(a)))});
  }
  check.near("H - (log n - KL(a || u)), worst", worst, 0, 1e-12);
  const Vector u(4, 0.25);
  check.at_least("KL(u || a) less KL(a || u): not symmetric", kl_divergence(u, kWeights) - kl_divergence(kWeights, u),
                 0.05);
}

double form_of(const Table& metric, const Vector& x) {
  double out = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j) out += x[i] * metric(i, j) * x[j];
  return out;
}

void metric_of_small_steps(Check& check) {
  const Vector step = without_mean(check.random().normals(4));
  const Vector moved = plus(kWeights, 1e-4, step);
  const double form = form_of(fisher_metric(kWeights, SimplexCoordinates::plain), step);
  // Cubic terms: of the order of the step.
  check.relative("KL(a || a + d) against d g d / 2", kl_divergence(kWeights, moved), 1e-8 * form / 2, 0.02);
  // Along a direction whose cubic term, -sum d^3 / (3 a^2), does not vanish.
  const double along = form_of(fisher_metric(kWeights, SimplexCoordinates::plain), kTangent);
  const auto rest = [&](double size) {
    return kl_divergence(kWeights, plus(kWeights, size, kTangent)) - size * size * along / 2;
  };
  check.near("what is left at twice the step / at the step", rest(2e-4) / rest(1e-4), 8, 0.1);
}

// E[d_i log p d_j log p] of a family, by central differences.
Table metric_by_differences(const Family& family, const Vector& at) {
  const double h = 1e-6;
  const Vector p = family(at);
  Table slopes(p.size(), at.size()), out(at.size(), at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    Vector unit(at.size(), 0.0);
    unit[i] = 1;
    const Vector above = family(plus(at, h, unit)), below = family(plus(at, -h, unit));
    for (std::size_t k = 0; k < p.size(); ++k) slopes(k, i) = std::log(above[k] / below[k]) / (2 * h);
  }
  for (std::size_t k = 0; k < p.size(); ++k)
    for (std::size_t i = 0; i < at.size(); ++i)
      for (std::size_t j = 0; j < at.size(); ++j) out(i, j) += p[k] * slopes(k, i) * slopes(k, j);
  return out;
}

double largest_difference(const Table& x, const Table& y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.values.size(); ++i) worst = std::max(worst, std::abs(x.values[i] - y.values[i]));
  return worst;
}

void metric_by_parametrisation(Check& check) {
  const Family plain = [](const Vector& t) { return t; };
  const Family homogeneous = [](Vector t) {
    const double sum = sum_of(t);
    for (double& x : t) x /= sum;
    return t;
  };
  const Family free = [](Vector t) {
    t.push_back(1 - sum_of(t));
    return t;
  };
  const Family logits = [](const Vector& t) { return weights_of(t); };
  const Vector first(kWeights.begin(), kWeights.end() - 1);

  // The printed matrix [i=j] / a_i - 1, in n homogeneous coordinates or, without the condition, in the n - 1 free ones.
  const Table measured = check.choose(metric_by_differences(homogeneous, kWeights), metric_by_differences(free, first));
  Table printed(measured.rows, measured.rows, -1.0);
  for (std::size_t i = 0; i < printed.rows; ++i) printed(i, i) += 1 / kWeights[i];
  check.near("metric - ([i=j] / a_i - 1), worst", largest_difference(measured, printed), 0, 1e-6);

  const auto agrees = [&](const char* name, const Family& family, const Vector& at, SimplexCoordinates coordinates) {
    check.near(name, largest_difference(metric_by_differences(family, at), fisher_metric(kWeights, coordinates)), 0,
               1e-6);
  };
  agrees("plain: - [i=j] / a_i", plain, kWeights, SimplexCoordinates::plain);
  agrees("n - 1 free: - ([i=j] / a_i + 1 / a_n)", free, first, SimplexCoordinates::free);
  agrees("logits: - (diag(a) - a a^T)", logits, logarithms(kWeights), SimplexCoordinates::logits);
  const Table free_metric = metric_by_differences(free, first);
  double worst = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      worst = std::max(worst, std::abs(free_metric(i, j) - ((i == j ? 1 / kWeights[i] : 0) - 1)));
  check.near("printed matrix read in n - 1 coordinates is off by, quoted", worst, 21, 1e-5);
  // On directions within the simplex, all forms agree.
  const Vector three(kTangent.begin(), kTangent.end() - 1);
  check.near("tangent form, homogeneous, quoted", form_of(metric_by_differences(homogeneous, kWeights), kTangent),
             38.329936, 1e-5);
  check.near("tangent form, plain, quoted", form_of(metric_by_differences(plain, kWeights), kTangent), 38.329936, 1e-5);
  check.near("tangent form, n - 1 free, quoted", form_of(free_metric, three), 38.329936, 1e-5);
  const Table singular = fisher_metric(kWeights, SimplexCoordinates::homogeneous);
  Vector image;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto row = singular.row(i);
    image.push_back(dot(row, kWeights));
  }
  check.near("homogeneous: g a = 0", std::sqrt(dot(image, image)), 0, 1e-14);
}

void gradient_in_the_metric(Check& check) {
  const Vector gradient = check.choose(natural_entropy_gradient(kWeights), euclidean_entropy_gradient(kWeights));
  check.near("sum of its components", sum_of(gradient), 0, 1e-14);
  // The defining property of the gradient in this metric: <gradient, t> = dH along t, for every t within the simplex.
  const Vector t = without_mean(check.random().normals(4));
  const double h = 1e-6;
  const double slope = (entropy(plus(kWeights, h, t)) - entropy(plus(kWeights, -h, t))) / (2 * h);
  double form = 0;
  for (std::size_t i = 0; i < 4; ++i) form += gradient[i] * t[i] / kWeights[i];
  check.near("<gradient, t> in the metric against dH/dt", form, slope, 1e-7);

  Vector a = kWeights;
  for (int step = 0; step < 10000; ++step) a = plus(a, 1e-4, natural_entropy_gradient(a));
  const Vector tempered = weights_of(logarithms(kWeights), std::exp(-1.0));
  double worst = 0;
  for (std::size_t i = 0; i < 4; ++i) worst = std::max(worst, std::abs(a[i] - tempered[i]));
  check.near("flow along the Fisher gradient for t = 1 against softmax(log a / e)", worst, 0, 1e-5);
  check.near("the same, quoted for 10 000 steps of Euler", worst, 4e-6, 5e-7);
  check.near("sum of -log a - 1, quoted", sum_of(euclidean_entropy_gradient(kWeights)), 2.79, 0.005);
}

void where_the_gradient_points(Check& check) {
  const Vector centre = towards_uniform(kWeights), raw = euclidean_entropy_gradient(kWeights);
  check.near("cosine with u - a, raw", cosine(raw, centre), 0.738, 5e-4);
  check.near("cosine with u - a, projected", cosine(without_mean(raw), centre), 0.949, 5e-4);
  std::int64_t below_quoted = 0;
  double least = 1, identity = 0;
  for (std::int64_t t = 0; t < 20000; ++t) {
    const Vector a = check.random().probabilities(4), u(4, 0.25), gradient = euclidean_entropy_gradient(a);
    least = std::min(least, cosine(without_mean(gradient), towards_uniform(a)));
    below_quoted += cosine(without_mean(gradient), towards_uniform(a)) < 0.635;
    const double product = dot(gradient, towards_uniform(a));
    identity = std::max(identity, std::abs(product / (kl_divergence(u, a) + kl_divergence(a, u)) - 1));
  }
  check.near("<gradient, u - a> / (KL(u||a) + KL(a||u)) - 1, worst", identity, 0, 1e-9);
  // Quoted: 0.635, the least of 20 000. Of as many fresh ones, k are below it with probability 2^-(k+1).
  check.at_most("weights with a cosine below the quoted least", static_cast<double>(below_quoted), 30);
  check.at_most("least cosine with u - a, not along the line", least, 0.75);
  const Vector two = {0.8, 0.2};
  check.near("cosine with u - a, projected, n = 2",
             cosine(without_mean(euclidean_entropy_gradient(two)), towards_uniform(two)), 1, 1e-12);
  // It climbs towards the centre; moving straight towards it, as printed, would mean a cosine of 1.
  check.at_least("least cosine with u - a of random weights, n = 4", least, check.choose(0.0, 1 - 1e-6));
}

}  // namespace

std::vector<Claim> geometry_claims() {
  return {
      computed("001-46", Verdict::holds, "Attention weights form the simplex a >= 0, sum a = 1", "", simplex),
      computed("001-47", Verdict::holds, "H(a) = log n - KL(a || uniform)",
               "the divergence from the centre is the KL, not H; it is not a distance", height_over_simplex),
      computed("001-48", Verdict::holds, "The Fisher metric E[d_i log p d_j log p] on distributions",
               "KL(a || a + d) = d g d / 2 + O(d^3)", metric_of_small_steps),
      computed("001-49", Verdict::holds_if, "The Fisher metric of categorical weights is [i=j] / a_i - 1",
               "in homogeneous coordinates t_k / sum t, where it is singular; n - 1 free coordinates: [i=j] / a_i + 1 "
               "/ a_n; logits: diag(a) - a a^T",
               metric_by_parametrisation),
      computed("001-50", Verdict::corrected, "The gradient of H in the Fisher metric is -log a - 1",
               "a_i (-log a_i - H), whose flow is tempering; -log a - 1 is the Euclidean one and leaves the simplex",
               gradient_in_the_metric),
      computed("001-50b", Verdict::holds_if, "The gradient of the entropy points at the uniform weights",
               "as a positive product with u - a, equal to KL(u||a) + KL(a||u); not along the line to u for n >= 3",
               where_the_gradient_points),
  };
}

}  // namespace isentropic::ledger::attention_entropy
