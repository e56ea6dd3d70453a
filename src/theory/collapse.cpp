// The entropy floor of scores of bounded norm, and its inverse by root finding.
#include "isentropic/theory/collapse.hpp"

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "base/checks.hpp"

namespace isentropic::theory {
namespace {

// One key is `gap` above n - 1 others.
double entropy_at_gap(double n, double gap) {
  const double low = (n - 1) * std::exp(-gap);
  return std::log1p(low) + gap * low / (1 + low);
}

}  // namespace

double least_entropy_of_norm(std::int64_t n, double norm) {
  require_at_least("n", n, 1);
  require_non_negative("norm", norm);
  if (n == 1) return 0;
  const auto keys = static_cast<double>(n);
  return entropy_at_gap(keys, norm * std::sqrt(keys / (keys - 1)));
}

double norm_that_keeps_entropy(std::int64_t n, double entropy) {
  require_at_least("n", n, 2);
  const auto keys = static_cast<double>(n);
  require(entropy >= 0 && entropy < std::log(keys), "entropy", entropy,
          "a number in [0, log n) = [0, " + to_text(std::log(keys)) + ")");
  if (entropy == 0) return std::numeric_limits<double>::infinity();
  double high = 1;
  while (entropy_at_gap(keys, high) > entropy) high *= 2;
  std::uintmax_t iterations = 200;
  const auto bracket =
      boost::math::tools::toms748_solve([&](double gap) { return entropy_at_gap(keys, gap) - entropy; }, 0.0, high,
                                        boost::math::tools::eps_tolerance<double>(52), iterations);
  return (bracket.first + bracket.second) / 2 * std::sqrt((keys - 1) / keys);
}

}  // namespace isentropic::theory
