// The usual temperatures, and 1 / sqrt(d_k) as one.
#include <algorithm>

#include "instruments/estimate.hpp"
#include "instruments/kernels.hpp"
#include "ledger/contrast/losses.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// |diag(a) - a a^T|, Frobenius.
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

// q.k of pairs whose coordinates are correlated through a common part of share rho.
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

void square_root_of_d(Check& check) {
  const std::int64_t pairs = check.effort(1000, 4000);
  const double rho = check.choose(0.0, 0.3), d = 256;
  const ScoreMoments scores = score_moments(check.random(), 256, rho, pairs);
  const double divisor = std::sqrt(d);
  check.near("mean of q.k / sqrt(d), d = 256",
             Estimate{scores.products.mean() / divisor, scores.products.estimate().error / divisor}, 0);
  check.near("mean square of q.k / sqrt(d), d = 256",
             Estimate{scores.squares.mean() / d, scores.squares.estimate().error / d}, 1);
  const ScoreMoments correlated = score_moments(check.random(), 256, 0.3, pairs);
  check.near("mean of q.k at correlation 0.3, d = 256", correlated.products.estimate(), 0.3 * 256);

  report::PlotCurve unscaled{"q.k", {}, {}}, scaled_curve{"q.k / sqrt(d)", {}, {}};
  struct Quoted {
    std::size_t d;
    double unscaled_peak, scaled_peak;
  };
  for (const auto& [size, unscaled_peak, scaled_peak] :
       {Quoted{8, 0.41, 0.10}, {64, 0.78, 0.10}, {512, 0.92, 0.10}, {1024, 0.96, 0.10}}) {
    if (size > 64 && !check.thorough()) break;
    for (report::PlotCurve* curve : {&unscaled, &scaled_curve}) curve->x.push_back(static_cast<double>(size));
    const std::string at = ", d = " + std::to_string(size);
    const ScoreMoments here = score_moments(check.random(), size, 0, pairs);
    const double d_here = static_cast<double>(size);
    check.near("Var(q.k) / d" + at, Estimate{here.squares.mean() / d_here, here.squares.estimate().error / d_here}, 1);
    Mean peak_unscaled, peak_scaled, jacobian_unscaled, jacobian_scaled;
    for (std::int64_t draw = 0; draw < check.effort(8, 20); ++draw) {
      const Table query(50, size, check.random().normals(50 * size)), key(64, size, check.random().normals(64 * size));
      for (bool scaled : {false, true}) {
        AttentionProblem options;
        options.scale = scaled ? Scale::inverse_sqrt_d() : Scale::constant(1);
        const Table weights = weights_of(query, key, options);
        Mean peak, jacobian;
        for (std::size_t i = 0; i < 50; ++i) {
          peak.add(*std::max_element(weights.row(i).begin(), weights.row(i).end()));
          jacobian.add(jacobian_norm(weights.row(i)));
        }
        (scaled ? peak_scaled : peak_unscaled).add(peak.mean());
        (scaled ? jacobian_scaled : jacobian_unscaled).add(jacobian.mean());
      }
    }
    unscaled.y.push_back(peak_unscaled.mean()), scaled_curve.y.push_back(peak_scaled.mean());
    // Quoted from one set of 64 keys and 200 queries.
    check.near("mean largest weight of 64, unscaled" + at, peak_unscaled.mean(), unscaled_peak, 0.08);
    check.near("mean largest weight of 64, scaled" + at, peak_scaled.mean(), scaled_peak, 0.02);
    check.near("Jacobian of the softmax, scaled" + at, jacobian_scaled.mean(), 0.18, 0.025);
    if (size == 8) check.near("Jacobian of the softmax, unscaled" + at, jacobian_unscaled.mean(), 0.30, 0.05);
    if (size == 1024) check.near("Jacobian of the softmax, unscaled" + at, jacobian_unscaled.mean(), 0.06, 0.04);
  }
  check.plot({"Mean largest weight of 64 keys",
              "d",
              "weight",
              report::PlotScale::log,
              report::PlotScale::linear,
              {unscaled, scaled_curve}});
  // As algebra it is a temperature, and nothing else.
  const Table query(5, 64, check.random().normals(320)), key(9, 64, check.random().normals(576));
  AttentionProblem options;
  options.scale = Scale::constant(1 / std::sqrt(64.0));
  check.near("weights with 1/sqrt(d) less those with tau = sqrt(d)",
             largest_gap(weights_of(query, key).values, weights_of(query, key, options).values), 0, 0);
  // Unit vectors are the opposite case: their products shrink with d.
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
      listed("002-4.4.2-txt7", Verdict::view, "The usual temperature lies between 0.07 and 0.2",
             "practice; cosines then give scores up to 1 / 0.07 = 14.3"),
      computed("002-4.4.2-txt8", Verdict::holds_if,
               "1 / sqrt(d_k) is a temperature: q.k has variance d_k, and the scale brings it back to 1",
               "coordinates independent, of mean 0 and variance 1; a correlation of q and k leaves a mean that grows",
               square_root_of_d),
  };
}

}  // namespace isentropic::ledger::contrast
