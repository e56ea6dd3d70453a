// The NSB entropy estimator: a posterior mean over Dirichlet priors, by integration around its peak.
#include "information/nsb.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <map>

namespace isentropic::information {
namespace {

using boost::math::digamma;
using boost::math::trigamma;

// log(Gamma(b + n) / Gamma(b)); uses Stirling's series where the two would cancel.
double log_rising(double b, double n) {
  constexpr double kLarge = 1e4;
  if (b < kLarge) return std::lgamma(b + n) - std::lgamma(b);
  return (b + n - 0.5) * std::log1p(n / b) + n * (std::log(b) - 1) + (1 / (b + n) - 1 / b) / 12;
}

class Posterior {
 public:
  Posterior(const std::vector<std::int64_t>& counts, double cells) : cells_(cells) {
    for (std::int64_t n : counts) {
      ++multiplicity_[static_cast<double>(n)];
      total_ += static_cast<double>(n);
    }
    unseen_ = cells - static_cast<double>(counts.size());
  }

  // log of rho dxi/dt at b = e^t.
  double log_weight(double t) const {
    const double b = std::exp(t);
    double sum = -log_rising(cells_ * b, total_);
    for (const auto& [n, times] : multiplicity_) sum += times * log_rising(b, n);
    const double slope = cells_ * trigamma(cells_ * b + 1) - trigamma(b + 1);
    return sum + std::log(std::max(slope, 1e-300)) + t;
  }

  double entropy(double t) const {
    const double b = std::exp(t), all = total_ + cells_ * b;
    double sum = unseen_ * b / all * digamma(b + 1);
    for (const auto& [n, times] : multiplicity_) sum += times * (n + b) / all * digamma(n + b + 1);
    return digamma(all + 1) - sum;
  }

 private:
  std::map<double, double> multiplicity_;  // count -> number of cells with it
  double cells_, total_ = 0, unseen_ = 0;
};

// The location of the weight's peak, refined from a grid finer than any peak.
double peak_of(const Posterior& posterior, double low, double high) {
  constexpr int kGrid = 300;
  double best = low;
  for (int i = 0; i <= kGrid; ++i) {
    const double t = low + (high - low) * i / kGrid;
    if (posterior.log_weight(t) > posterior.log_weight(best)) best = t;
  }
  const double step = (high - low) / kGrid;
  return boost::math::tools::brent_find_minima([&](double t) { return -posterior.log_weight(t); }, best - step,
                                               best + step, 40)
      .first;
}

// The distance from the peak, on the side of `sign`, at which the weight becomes negligible.
double reach(const Posterior& posterior, double peak, double sign, double limit) {
  constexpr double kNegligible = 40;  // e^-40
  double distance = 1e-4;
  while (distance < limit && posterior.log_weight(peak + sign * distance) > posterior.log_weight(peak) - kNegligible)
    distance *= 1.5;
  return std::min(distance, limit);
}

}  // namespace

double nsb_entropy(const std::vector<std::int64_t>& counts, double cells) {
  if (cells <= 1) return 0;
  const Posterior posterior(counts, cells);
  // Beyond these ends rho is flat and dxi/dt falls as K b and 1 / b.
  const double low = -std::log(cells) - 30, high = 25;
  const double peak = peak_of(posterior, low, high), top = posterior.log_weight(peak);
  const double begin = peak - reach(posterior, peak, -1, peak - low),
               end = peak + reach(posterior, peak, 1, high - peak);
  const auto weight = [&](double t) { return std::exp(posterior.log_weight(t) - top); };
  using Quadrature = boost::math::quadrature::gauss_kronrod<double, 31>;
  const auto integral = [&](const auto& f) {
    constexpr unsigned kDepth = 12;
    constexpr double kTolerance = 1e-11;
    return Quadrature::integrate(f, begin, peak, kDepth, kTolerance) +
           Quadrature::integrate(f, peak, end, kDepth, kTolerance);
  };
  return integral([&](double t) { return weight(t) * posterior.entropy(t); }) / integral(weight);
}

}  // namespace isentropic::information
