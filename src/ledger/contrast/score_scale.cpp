// The usual temperatures, and 1 / sqrt(d_k) as one of them.
#include <algorithm>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/theory/random_scores.hpp"
#include "ledger/contrast/one_anchor.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// Frobenius norm of diag(a) - a a^T.
double jacobian_norm(std::span<const double> a) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a.size(); ++j) {
      const double entry = a[i] * (i == j ? 1 - a[i] : -a[j]);
      square += entry * entry;
    }
  return std::sqrt(square);
}

struct ScoreMoments {
  Mean products, squares;
};

// q.k of pairs whose coordinates are correlated through a shared component of fraction rho.
ScoreMoments score_moments(Random& random, std::size_t d, double rho, std::int64_t pairs) {
  ScoreMoments out;
  for (std::int64_t t = 0; t < pairs; ++t) {
    double product = 0;
    for (std::size_t c = 0; c < d; ++c) {
      const double common = rho > 0 ? std::sqrt(rho) * random.normal() : 0, own = std::sqrt(1 - rho);
      product += (common + own * random.normal()) * (common + own * random.normal());
    }
    out.products.add(product);
    out.squares.add(product * product);
  }
  return out;
}

// Peaks and Jacobians of the softmax over 64 keys, one value per set of keys (200 queries each).
struct Sharpness {
  Mean peak, jacobian;
};

Sharpness sharpness(Check& check, std::size_t d, const Scale& scale) {
  Sharpness out;
  for (std::int64_t draw = 0; draw < check.effort(8, 40); ++draw) {
    const Table query(200, d, check.random().normals(200 * d)), key(64, d, check.random().normals(64 * d));
    AttentionProblem options;
    options.scale = scale;
    const Table weights = weights_of(query, key, options);
    Mean peak, jacobian;
    for (std::size_t i = 0; i < 200; ++i) {
      peak.add(*std::max_element(weights.row(i).begin(), weights.row(i).end()));
      jacobian.add(jacobian_norm(weights.row(i)));
    }
    out.peak.add(peak.mean());
    out.jacobian.add(jacobian.mean());
  }
  return out;
}

// Quoted with two digits from a single such set.
void near_quoted_sharpness(Check& check, const std::string& name, const Mean& found, double quoted) {
  check.as_quoted(name, found, quoted, 1, 0.0051);
}

void sharpness_against_d(Check& check, std::int64_t pairs) {
  report::PlotCurve unscaled{"q.k", {}, {}}, scaled{"q.k / sqrt(d)", {}, {}};
  struct Quoted {
    std::size_t d;
    double unscaled_peak;
  };
  for (const auto& [d, unscaled_peak] : {Quoted{8, 0.41}, {64, 0.78}, {512, 0.92}, {1024, 0.96}}) {
    const std::string at = ", d = " + std::to_string(d);
    const auto size = static_cast<double>(d);
    const ScoreMoments here = score_moments(check.random(), d, 0, pairs);
    check.near("Var(q.k) / d" + at, Estimate{here.squares.mean() / size, here.squares.estimate().error / size}, 1);
    const Sharpness plain = sharpness(check, d, Scale::constant(1)),
                    soft = sharpness(check, d, Scale::inverse_sqrt_d());
    near_quoted_sharpness(check, "mean largest weight of 64, unscaled" + at, plain.peak, unscaled_peak);
    near_quoted_sharpness(check, "mean largest weight of 64, scaled" + at, soft.peak, 0.10);
    near_quoted_sharpness(check, "Jacobian of the softmax, scaled" + at, soft.jacobian, 0.18);
    if (d == 8) near_quoted_sharpness(check, "Jacobian of the softmax, unscaled" + at, plain.jacobian, 0.30);
    if (d == 1024) near_quoted_sharpness(check, "Jacobian of the softmax, unscaled" + at, plain.jacobian, 0.06);
    for (report::PlotCurve* curve : {&unscaled, &scaled}) curve->x.push_back(size);
    unscaled.y.push_back(plain.peak.mean()), scaled.y.push_back(soft.peak.mean());
  }
  check.plot({"Mean largest weight of 64 keys",
              "d",
              "weight",
              report::PlotScale::log,
              report::PlotScale::linear,
              {unscaled, scaled}});
}

// The weight of a positive with cosine 1 among 255 random directions.
void usual_temperatures(Check& check) {
  const std::size_t n = 256, d = 64;
  for (const double tau : {0.07, 0.2, 1.0}) {
    Mean weight;
    double largest = 0;
    for (std::int64_t t = 0; t < check.effort(100, 1000); ++t) {
      Table keys(n, d, check.random().normals(n * d));
      normalise_rows(&keys);
      const Contrast contrast = one_anchor(keys.row(0), keys, tau);
      weight.add(std::exp(-losses_of(contrast)[0]));
      AttentionProblem options;
      options.scale = Scale::constant(1 / tau);
      largest = std::max(largest, attend(contrast.query, keys, keys, options).statistics.max_score.to_doubles()[0]);
    }
    const auto size = static_cast<double>(d), others = static_cast<double>(n - 1);
    check.near("weight of the positive" + at_tau(tau), weight.estimate(),
               expected_row(ScoreLaw::cosine(size), std::log(others), 1 / (tau * size), size).planted, 1e-9);
    check.near("largest score" + at_tau(tau), largest, 1 / tau, 1e-12);
    // Almost all of it, about a third, and hardly more than one in 256.
    if (tau == 0.07) check.at_least("in the usual range, lower end: that weight", weight.mean(), 0.99);
    if (tau == 0.2) check.between("in the usual range, upper end: that weight", weight.mean(), 0.25, 0.5);
    if (tau == 1) check.at_most("without a temperature: that weight", weight.mean(), 0.02);
  }
}

void square_root_of_d(Check& check) {
  const std::int64_t pairs = check.effort(2000, 8000);
  const double rho = check.choose(0.0, 0.3), d = 256;
  const ScoreMoments scores = score_moments(check.random(), 256, rho, pairs);
  const double divisor = std::sqrt(d);
  check.near("mean of q.k / sqrt(d), d = 256",
             Estimate{scores.products.mean() / divisor, scores.products.estimate().error / divisor}, 0);
  check.near("mean square of q.k / sqrt(d), d = 256",
             Estimate{scores.squares.mean() / d, scores.squares.estimate().error / d}, 1);
  const ScoreMoments correlated = score_moments(check.random(), 256, 0.3, pairs);
  check.near("mean of q.k at correlation 0.3, d = 256", correlated.products.estimate(), 0.3 * 256);

  check.as_quoted("mean of q.k at correlation 0.3, quoted", correlated.products, 76.6, 4000);
  check.near("the same over sqrt(d), quoted", correlated.products.mean() / divisor, 4.8,
             0.05 + 5 * correlated.products.estimate().error / divisor);
  sharpness_against_d(check, pairs);
  // Algebraically it is a temperature, and nothing else.
  const Table query(5, 64, check.random().normals(320)), key(9, 64, check.random().normals(576));
  AttentionProblem options;
  options.scale = Scale::constant(1 / std::sqrt(64.0));
  check.near("weights with 1/sqrt(d) less those with tau = sqrt(d)",
             largest_gap(weights_of(query, key).values, weights_of(query, key, options).values), 0, 0);
  // Unit vectors are the opposite case: their inner products shrink with d.
  Mean cosines;
  for (std::int64_t t = 0; t < pairs; ++t) {
    const Vector x = check.random().normals(64), y = check.random().normals(64);
    const double c = cosine(x, y);
    cosines.add(64 * c * c);
  }
  check.near("d Var(cos) of random unit vectors, d = 64", cosines.estimate(), 1);
}

}  // namespace

std::vector<Claim> score_scale_claims() {
  return {
      computed("002-4.4.2-txt7", Verdict::view, "The usual temperature lies between 0.07 and 0.2",
               "practice; cosines then give scores up to 1 / 0.07 = 14.3. At d = 64 a perfect positive among 255 "
               "random keys gets a weight of 0.999 at 0.07, 0.32 at 0.2 and 0.01 at 1",
               usual_temperatures),
      computed("002-4.4.2-txt8", Verdict::holds_if,
               "1 / sqrt(d_k) is a temperature: q.k has variance d_k, and the scale brings it back to 1",
               "coordinates independent, of mean 0 and variance 1; a correlation of q and k leaves a mean that grows",
               square_root_of_d),
  };
}

}  // namespace isentropic::ledger::contrast
