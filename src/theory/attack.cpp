// Dinkelbach's iteration for the worst change of the scores, with the inner maximum solved for each norm.
#include "isentropic/theory/attack.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <numeric>

#include "base/checks.hpp"

namespace isentropic::theory {
namespace {

using Vector = std::vector<double>;
using information::Table;

void require_attack(std::span<const double> scores, std::size_t count, double eps) {
  require(!scores.empty(), "scores", "empty", "at least one");
  require_length("x", count, scores.size(), "one for each score");
  require_non_negative("eps", eps);
}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

// e^{s_i + change_i - max}: softmax before it is normalised.
Vector masses(std::span<const double> scores, std::span<const double> change = {}) {
  Vector out(scores.begin(), scores.end());
  for (std::size_t i = 0; i < change.size(); ++i) out[i] += change[i];
  const double highest = *std::max_element(out.begin(), out.end());
  for (double& s : out) s = std::exp(s - highest);
  return out;
}

double mean(std::span<const double> mass, std::span<const double> x) {
  return std::inner_product(mass.begin(), mass.end(), x.begin(), 0.0) / std::accumulate(mass.begin(), mass.end(), 0.0);
}

double length(std::span<const double> x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

// ---- The maximum of sum_i c_i e^delta_i within each budget ----

Vector best_in_infinity(const Vector& c, double eps) {
  Vector out(c.size());
  std::transform(c.begin(), c.end(), out.begin(), [&](double x) { return eps * sign(x); });
  return out;
}

// Every coordinate solves delta e^-delta = c_i / (2 mu), those with c_i < 0 uniquely, the others on the branch below
// 1, except the largest c_k: its delta_k = y is the parameter, 2 mu = c_k e^y / y, and may lie above 1.
Vector stationary_at(const Vector& c, std::size_t k, double y) {
  Vector out(c.size());
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double q = c[i] / c[k] * y * std::exp(-y);
    out[i] = i == k ? y : -boost::math::lambert_w0(std::max(-q, -std::exp(-1.0)));
  }
  return out;
}

Vector best_in_euclidean(const Vector& c, double eps) {
  const auto k = static_cast<std::size_t>(std::max_element(c.begin(), c.end()) - c.begin());
  if (!(c[k] > 0) || eps == 0) return Vector(c.size(), 0);
  const auto excess = [&](double y) { return length(stationary_at(c, k, y)) - eps; };
  const auto value = [&](const Vector& delta) {
    double sum = 0;
    for (std::size_t i = 0; i < c.size(); ++i) sum += c[i] * std::expm1(delta[i]);
    return sum;
  };
  Vector best(c.size(), 0);
  double best_value = 0;
  const auto try_between = [&](double low, double high) {
    if (!(excess(low) <= 0) == !(excess(high) <= 0)) return;
    const bool rises = excess(low) <= 0;
    for (int step = 0; step < 100 && high - low > 1e-16 * high; ++step) {
      const double middle = (low + high) / 2;
      ((excess(middle) <= 0) == rises ? low : high) = middle;
    }
    const Vector delta = stationary_at(c, k, (low + high) / 2);
    if (const double x = value(delta); x > best_value) best = delta, best_value = x;
  };
  // The length increases with y up to 1. Beyond that, delta_k grows while the others shrink, so every crossing is
  // tried.
  try_between(0, std::min(1.0, eps));
  constexpr int kSteps = 64;
  for (int step = 0; eps > 1 && step < kSteps; ++step)
    try_between(1 + (eps - 1) * step / kSteps, 1 + (eps - 1) * (step + 1) / kSteps);
  return best;
}

// The terms c_i < 0 are concave in their share of the budget: the largest are lowered to a common level.
Vector lowered(const Vector& c, double eps) {
  Vector logs;
  for (double x : c)
    if (x < 0) logs.push_back(std::log(-x));
  std::sort(logs.rbegin(), logs.rend());
  double level = 0, sum = 0;
  for (std::size_t m = 0; m < logs.size(); ++m) {
    sum += logs[m];
    level = (sum - eps) / static_cast<double>(m + 1);
    if (m + 1 == logs.size() || level >= logs[m + 1]) break;
  }
  Vector out(c.size(), 0);
  for (std::size_t i = 0; i < c.size(); ++i)
    if (c[i] < 0) out[i] = -std::max(0.0, std::log(-c[i]) - level);
  return out;
}

// Splitting the budget between raising and lowering never pays off: the gain of the raised one grows at least as fast.
Vector best_in_absolute(const Vector& c, double eps) {
  const auto k = static_cast<std::size_t>(std::max_element(c.begin(), c.end()) - c.begin());
  const Vector low = lowered(c, eps);
  double low_value = 0;
  for (std::size_t i = 0; i < c.size(); ++i) low_value += c[i] * std::expm1(low[i]);
  if (low_value >= c[k] * std::expm1(eps)) return low;
  Vector out(c.size(), 0);
  out[k] = eps;
  return out;
}

Vector best_in(Budget budget, const Vector& c, double eps) {
  switch (budget) {
    case Budget::infinity:
      return best_in_infinity(c, eps);
    case Budget::euclidean:
      return best_in_euclidean(c, eps);
    case Budget::absolute:
      break;
  }
  return best_in_absolute(c, eps);
}

}  // namespace

double size_in(Budget budget, std::span<const double> change) {
  if (budget == Budget::euclidean) return length(change);
  double sum = 0, greatest = 0;
  for (double x : change) sum += std::abs(x), greatest = std::max(greatest, std::abs(x));
  return budget == Budget::infinity ? greatest : sum;
}

std::vector<double> projections(const Table& values, std::span<const double> direction) {
  require_length("direction", direction.size(), values.columns, "as many as the values have columns");
  Vector out(values.rows);
  for (std::size_t i = 0; i < values.rows; ++i)
    out[i] = std::inner_product(direction.begin(), direction.end(), values.row(i).begin(), 0.0);
  return out;
}

std::vector<double> output_gradient(std::span<const double> scores, std::span<const double> x) {
  require_attack(scores, x.size(), 0);
  Vector out = masses(scores);
  const double total = std::accumulate(out.begin(), out.end(), 0.0), output = mean(out, x);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] *= (x[i] - output) / total;
  return out;
}

double attack_gain(std::span<const double> scores, std::span<const double> x, std::span<const double> change) {
  require_attack(scores, x.size(), 0);
  require_attack(scores, change.size(), 0);
  return mean(masses(scores, change), x) - mean(masses(scores), x);
}

Attack first_order_attack(std::span<const double> scores, std::span<const double> x, Budget budget, double eps) {
  require_attack(scores, x.size(), eps);
  const Vector gradient = output_gradient(scores, x);
  Attack out{Vector(gradient.size(), 0), 0};
  const double norm = length(gradient);
  if (norm == 0) return out;
  if (budget == Budget::absolute) {
    const auto k = std::max_element(gradient.begin(), gradient.end(),
                                    [](double a, double b) { return std::abs(a) < std::abs(b); }) -
                   gradient.begin();
    out.change[static_cast<std::size_t>(k)] = eps * sign(gradient[static_cast<std::size_t>(k)]);
  } else {
    for (std::size_t i = 0; i < gradient.size(); ++i)
      out.change[i] = eps * (budget == Budget::infinity ? sign(gradient[i]) : gradient[i] / norm);
  }
  out.gain = attack_gain(scores, x, out.change);
  return out;
}

Attack exact_attack(std::span<const double> scores, std::span<const double> x, Budget budget, double eps) {
  require_attack(scores, x.size(), eps);
  const Vector mass = masses(scores);
  const double start = mean(mass, x);
  Attack out{Vector(scores.size(), 0), 0};
  constexpr int kMostSteps = 100;  // convergence is superlinear; a handful is usual
  for (int step = 0; step < kMostSteps; ++step) {
    Vector c(mass.size());
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = mass[i] * (x[i] - (start + out.gain));
    Vector change = best_in(budget, c, eps);
    const double gain = mean(masses(scores, change), x) - start;
    if (!(gain > out.gain)) break;
    out = {std::move(change), gain};
  }
  return out;
}

Attack norm_attack(std::span<const double> scores, const Table& values, double eps) {
  require_attack(scores, values.rows, eps);
  Eigen::MatrixXd jacobian(static_cast<Eigen::Index>(values.columns), static_cast<Eigen::Index>(values.rows));
  for (std::size_t d = 0; d < values.columns; ++d) {
    Vector unit(values.columns, 0);
    unit[d] = 1;
    const Vector row = output_gradient(scores, projections(values, unit));
    jacobian.row(static_cast<Eigen::Index>(d)) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), jacobian.cols());
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(jacobian, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::VectorXd top = svd.matrixV().col(0) * eps;
  return {{top.data(), top.data() + top.size()}, eps * svd.singularValues()(0)};
}

}  // namespace isentropic::theory
