// Entropy floor and weight bounds for scores in an interval, attained by scores at its two ends.
#include "isentropic/theory/bounded_scores.hpp"

#include <algorithm>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>
#include <limits>

#include "base/checks.hpp"

namespace isentropic::theory {
namespace {

// D - 1 = (w - 1 + e^-w) / (1 - e^-w): w / 2 for small w.
double excess(double range) {
  const double below = -std::expm1(-range);
  return below == 0 ? range / 2 : (range - below) / below;
}

// Entropy of m keys at 0 and n - m at -w.
double two_level_entropy(double n, double m, double range) {
  const double low = (n - m) * std::exp(-range);
  return std::log(m + low) + range * low / (m + low);
}

}  // namespace

double cosine_score_range(double tau) {
  require_positive("tau", tau);
  return 2 / tau;
}

double bounded_entropy_gap(double range) {
  require_non_negative("range", range);
  return -boost::math::log1pmx(excess(range));
}

double bounded_top_share(double range) {
  require_non_negative("range", range);
  return range == 0 ? 0.5 : excess(range) / std::expm1(range);
}

BoundedEntropyFloor bounded_entropy_floor(std::int64_t n, double range) {
  require_at_least("n", n, 1);
  require_non_negative("range", range);
  // The entropy has one minimum along m, so the best integer is next to the best real number.
  const double best = static_cast<double>(n) * bounded_top_share(range);
  const auto below = std::clamp<std::int64_t>(static_cast<std::int64_t>(best), 1, std::max<std::int64_t>(n - 1, 1));
  BoundedEntropyFloor out{std::numeric_limits<double>::infinity(), 1};
  for (const std::int64_t m : {below, std::min(below + 1, n)}) {
    const double entropy = two_level_entropy(static_cast<double>(n), static_cast<double>(m), range);
    if (entropy < out.entropy) out = {entropy, m};
  }
  return out;
}

double largest_bounded_weight(std::int64_t n, double range) {
  require_at_least("n", n, 1);
  require_non_negative("range", range);
  return 1 / (1 + static_cast<double>(n - 1) * std::exp(-range));
}

double smallest_bounded_weight(std::int64_t n, double range) {
  require_at_least("n", n, 1);
  require_non_negative("range", range);
  return 1 / (1 + static_cast<double>(n - 1) * std::exp(range));
}

}  // namespace isentropic::theory
