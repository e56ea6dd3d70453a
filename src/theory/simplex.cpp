// Fisher metric, entropy gradients and bounds near a corner of the probability simplex.
#include "isentropic/theory/simplex.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/checks.hpp"
#include "isentropic/error.hpp"
#include "isentropic/information/distribution.hpp"

namespace isentropic::theory {
namespace {

using information::Table;

void require_interior(std::span<const double> a) {
  require_distribution("a", a);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] == 0) throw Error("a[" + std::to_string(i) + "]", "0", "a weight > 0");
}

void require_peak(double peak) { require(peak > 0 && peak <= 1, "peak", peak, "a weight in (0, 1]"); }

}  // namespace

double kl_to_uniform(std::span<const double> a) {
  require_distribution("a", a);
  const auto n = static_cast<double>(a.size());
  double sum = 0;
  for (double x : a)
    if (x > 0) sum += x * std::log(n * x);
  return sum;
}

Table fisher_metric(std::span<const double> a, SimplexCoordinates coordinates) {
  require_interior(a);
  const bool is_free = coordinates == SimplexCoordinates::free;
  const std::size_t n = a.size() - (is_free ? 1 : 0);
  Table out(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      switch (coordinates) {
        case SimplexCoordinates::plain:
          break;
        case SimplexCoordinates::homogeneous:
          out(i, j) = -1;
          break;
        case SimplexCoordinates::free:
          out(i, j) = 1 / a.back();
          break;
        case SimplexCoordinates::logits:
          out(i, j) = -a[i] * a[j];
          break;
      }
    }
    out(i, i) += coordinates == SimplexCoordinates::logits ? a[i] : 1 / a[i];
  }
  return out;
}

std::vector<double> natural_entropy_gradient(std::span<const double> a) {
  const double h = information::entropy(a);
  std::vector<double> out(a.size(), 0.0);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] > 0) out[i] = a[i] * (-std::log(a[i]) - h);
  return out;
}

std::vector<double> euclidean_entropy_gradient(std::span<const double> a) {
  require_interior(a);
  std::vector<double> out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = -std::log(a[i]) - 1;
  return out;
}

std::vector<double> entropy_flow(std::span<const double> a, double time) {
  require_interior(a);
  const double power = std::exp(-time), largest = *std::max_element(a.begin(), a.end());
  std::vector<double> out(a.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += out[i] = std::pow(a[i] / largest, power);
  for (double& x : out) x /= sum;
  return out;
}

double log_sum_exp_excess_bound(std::int64_t n, double gap) {
  require_at_least("n", n, 1);
  require_non_negative("gap", gap);
  return static_cast<double>(n - 1) * std::exp(-gap);
}

double hard_attention_distance_bound(double peak, double diameter) {
  require_peak(peak);
  require_non_negative("diameter", diameter);
  return (1 - peak) * diameter;
}

double softmax_jacobian_bound(double peak) {
  require_peak(peak);
  return 2 * (1 - peak);
}

}  // namespace isentropic::theory
