// Numerical integration of the Laplace transform of the partition function, for four laws of the scores.
#include "isentropic/theory/random_scores.hpp"

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "base/checks.hpp"

namespace isentropic::theory {
namespace {

// Weights below e^{-kNegligible} do not matter.
constexpr double kNegligible = 45;

struct Node {
  double score;       // lambda s
  double log_weight;  // log of n times the node's probability
};

// The trapezoidal rule in a variable in which the density is smooth and decays at least exponentially on both sides, so
// it converges faster than any power of the step. The step also resolves e^{-e^{lambda s - x}}, of width 1/lambda.
template <class Place>
std::vector<Node> trapezoid(double low, double high, double step, double log_n, const Place& place) {
  std::vector<Node> nodes;
  double sum = 0;
  for (double y = low; y <= high; y += step) {
    nodes.push_back(place(y));
    sum += std::exp(nodes.back().log_weight);
  }
  for (Node& node : nodes) node.log_weight += log_n - std::log(sum);
  return nodes;
}

constexpr double kResolution = 0.5;

std::vector<Node> gaussian_nodes(double scale, double log_n) {
  const double step = std::min(0.4, kResolution / scale);
  return trapezoid(-std::sqrt(2 * kNegligible), std::sqrt(2 * (log_n + kNegligible)), step, log_n, [&](double y) {
    return Node{scale * y, -y * y / 2};
  });
}

// cos(theta) = tanh y has density cosh(y)^{1-d}, up to a constant.
std::vector<Node> cosine_nodes(double d, double lambda, double log_n) {
  const double low = kNegligible / (d - 1) + std::log(2.0), high = low + log_n / (d - 1);
  const auto place = [&](double y) { return Node{lambda * d * std::tanh(y), (1 - d) * std::log(std::cosh(y))}; };
  const double smooth = 0.4 / std::sqrt(d);
  // log Z is at least the largest logit. So resolution is needed only from the point above which kNegligible keys are
  // expected; closer to the pole the score is flatter in y.
  double above = 0, begin = high;
  const std::vector<Node> coarse = trapezoid(-low, high, smooth, log_n, place);
  for (auto node = coarse.rbegin(); node != coarse.rend() && above < kNegligible; ++node, begin -= smooth)
    above += std::exp(node->log_weight);
  const double flatness = std::pow(std::cosh(std::max(0.0, begin - smooth)), -2);
  return trapezoid(-low, high, std::min(smooth, kResolution / (lambda * d * flatness)), log_n, place);
}

// Both are functions of a logistic y: s = log(1 + e^y) is exponential, s = 1/(1 + e^{-y}) uniform.
double log_logistic_density(double y) { return -std::abs(y) - 2 * std::log1p(std::exp(-std::abs(y))); }

std::vector<Node> exponential_nodes(double lambda, double log_n) {
  return trapezoid(-kNegligible, kNegligible + log_n, std::min(0.25, kResolution / lambda), log_n, [&](double y) {
    const double s = std::max(y, 0.0) + std::log1p(std::exp(-std::abs(y)));
    return Node{lambda * s, log_logistic_density(y)};
  });
}

std::vector<Node> uniform_nodes(double lambda, double log_n) {
  // Scores more than kNegligible below the top never matter, and above them d(lambda s)/dy < kNegligible. Near the top
  // all scores are nearly equal, so the last e^{-22}/n of them can be omitted.
  const double steepness = std::min(lambda / 4, kNegligible);
  return trapezoid(-kNegligible, log_n + 22, std::min(0.25, kResolution / steepness), log_n, [&](double y) {
    return Node{-lambda / (1 + std::exp(y)) + lambda, log_logistic_density(y)};
  });
}

std::vector<Node> nodes_of(const ScoreLaw& law, double log_n, double lambda) {
  switch (law.kind) {
    case ScoreLaw::Kind::gaussian:
      return gaussian_nodes(lambda * law.parameter, log_n);
    case ScoreLaw::Kind::cosine:
      return cosine_nodes(law.parameter, lambda, log_n);
    case ScoreLaw::Kind::exponential:
      return exponential_nodes(lambda, log_n);
    case ScoreLaw::Kind::uniform:
      break;
  }
  return uniform_nodes(lambda, log_n);
}

// The integrands at x.
struct Slice {
  double survival = 0;   // -log(phi^n)
  double mean = 0;       // n t E[lambda s e^{lambda s} ...] phi^{n-1}
  double collision = 0;  // n t^2 E[e^{2 lambda s} ...] phi^{n-1}
};

Slice slice_at(const std::vector<Node>& nodes, double log_n, double x) {
  Slice out;
  double q = 0;  // n (1 - phi)
  for (const Node& node : nodes) {
    const double y = node.score - x;
    if (node.log_weight + std::min(y, 0.0) < -kNegligible) continue;
    if (y < -30) {  // 1 - e^{-e^y} = e^y
      const double term = std::exp(node.log_weight + y);
      q += term, out.mean += term * node.score, out.collision += term * std::exp(y);
    } else if (y > 7) {  // e^{-e^y} = 0
      q += std::exp(node.log_weight);
    } else {
      const double weight = std::exp(node.log_weight), e = std::exp(y);
      const double term = weight * e * std::exp(-e);
      q -= weight * std::expm1(-e);
      out.mean += term * node.score, out.collision += term * e;
    }
  }
  const double share = q * std::exp(-log_n);  // 1 - phi
  // If phi is lost in the rounding of 1 - phi, it is 0.
  const bool vanished = share > 1 - 1e-14;
  const double log_phi_n = share < 1e-12 ? -q : vanished ? -1e300 : std::exp(log_n) * std::log1p(-share);
  out.survival = -log_phi_n;
  const double others = !vanished ? std::exp(log_phi_n * (1 - std::exp(-log_n))) : 0;  // phi^{n-1}
  out.mean *= others, out.collision *= others;
  return out;
}

// The x at which phi^n = 1/e, which is near log Z.
double centre(const std::vector<Node>& nodes, double log_n) {
  double low = nodes.front().score - 10, high = nodes.back().score + log_n + 10;
  while (high - low > 1e-3) {
    const double middle = (low + high) / 2;
    (slice_at(nodes, log_n, middle).survival > 1 ? low : high) = middle;
  }
  return low;
}

}  // namespace

ScoreLaw ScoreLaw::gaussian(double sigma) {
  require_positive("sigma", sigma);
  return {Kind::gaussian, sigma};
}
ScoreLaw ScoreLaw::cosine(double d) {
  require_above("d", d, 1);
  return {Kind::cosine, d};
}
ScoreLaw ScoreLaw::exponential() { return {Kind::exponential, 1}; }
ScoreLaw ScoreLaw::uniform() { return {Kind::uniform, 1}; }

ExpectedRow expected_row(const ScoreLaw& law, double log_n, double lambda, std::optional<double> planted_score) {
  require_non_negative("log_n", log_n);
  require_non_negative("lambda", lambda);
  // Avoids division by lambda = 0; 1e-9 times a score is 0 to the promised accuracy.
  const double used = std::max(lambda, 1e-9);
  const std::vector<Node> nodes = nodes_of(law, log_n, used);
  const double planted = planted_score ? used * *planted_score : -1e300;
  const double middle = std::max(centre(nodes, log_n), planted);
  ExpectedRow out;
  out.log_partition = middle;
  double mean = 0;
  constexpr double kStep = 0.4;
  const auto add = [&](double x) {
    const Slice slice = slice_at(nodes, log_n, x);
    const double e = std::exp(std::min(planted - x, 700.0)), gate = std::exp(-e);
    const double survival = std::exp(-slice.survival) * gate;
    out.log_partition += kStep * (std::exp(-std::exp(middle - x)) - survival);
    out.planted += kStep * e * survival;
    out.collision += kStep * (slice.collision * gate + e * e * survival);
    mean += kStep * (slice.mean * gate + e * survival * planted);
    return -std::log(survival);
  };
  for (double x = middle; add(x) < 60;) x -= kStep;
  for (double x = middle + kStep; add(x) > 1e-15 || x < middle + 40;) x += kStep;
  if (!planted_score) out.planted = 0;
  out.mean_score = mean / used;
  out.entropy = out.log_partition - mean;
  return out;
}

double scale_for_entropy(const ScoreLaw& law, double log_n, double entropy) {
  require_positive("entropy", entropy);
  require_below("entropy", entropy, log_n);
  const auto excess = [&](double log_lambda) {
    return expected_row(law, log_n, std::exp(log_lambda)).entropy - entropy;
  };
  double low = 0, high = 0, at_low = excess(0), at_high = at_low;
  for (double stride = 0.7; at_high > 0; stride *= 1.5) low = high, at_low = at_high, at_high = excess(high += stride);
  for (double stride = 0.7; at_low <= 0; stride *= 1.5) high = low, at_high = at_low, at_low = excess(low -= stride);
  std::uintmax_t evaluations = 60;
  const auto close = [](double a, double b) { return b - a < 1e-10; };
  const auto root = boost::math::tools::toms748_solve(excess, low, high, at_low, at_high, close, evaluations);
  return std::exp((root.first + root.second) / 2);
}

}  // namespace isentropic::theory
