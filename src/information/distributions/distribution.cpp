// Entropies and divergences of given probabilities; every sum skips zeros, where x log x is 0.
#include "isentropic/information/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>

#include "base/checks.hpp"
#include "information/distributions/validate.hpp"

namespace isentropic::information {
namespace {

double minus_p_log_p(double p) { return p > 0 ? -p * std::log(p) : 0; }

double entropy_of(std::span<const double> p) {
  double sum = 0;
  for (double x : p) sum += minus_p_log_p(x);
  return sum;
}

Variables joined(const Variables& a, const Variables& b) {
  Variables out = a;
  for (std::size_t x : b)
    if (std::find(out.begin(), out.end(), x) == out.end()) out.push_back(x);
  return out;
}

std::size_t cells_of(const std::vector<std::size_t>& sizes) {
  std::size_t cells = 1;
  for (std::size_t n : sizes) cells *= n;
  return cells;
}

Variables all_of(const Joint& joint) {
  Variables out(joint.sizes.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

}  // namespace

double to_bits(double nats) { return nats / std::numbers::ln2; }

double entropy(std::span<const double> p) {
  require_distribution("p", p);
  return entropy_of(p);
}

double kl_divergence(std::span<const double> p, std::span<const double> q) {
  require_distribution("p", p);
  require_distribution("q", q);
  require_length("q", q.size(), p.size(), "as p");
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) continue;
    if (q[i] == 0) return std::numeric_limits<double>::infinity();
    sum += p[i] * std::log(p[i] / q[i]);
  }
  return sum;
}

double jensen_shannon(const Table& distributions, std::span<const double> weights) {
  require_shape("distributions", distributions);
  const std::vector<double> equal(distributions.rows, 1.0 / static_cast<double>(distributions.rows));
  if (weights.empty()) weights = equal;
  require_length("weights", weights.size(), distributions.rows, "one for each distribution");
  require_distribution("weights", weights);
  std::vector<double> mixture(distributions.columns, 0.0);
  double mean = 0;
  for (std::size_t k = 0; k < distributions.rows; ++k) {
    require_distribution("distribution", distributions.row(k));
    mean += weights[k] * entropy_of(distributions.row(k));
    for (std::size_t i = 0; i < mixture.size(); ++i) mixture[i] += weights[k] * distributions(k, i);
  }
  return entropy_of(mixture) - mean;
}

double renyi_entropy(std::span<const double> p, double order) {
  require_distribution("p", p);
  require(order >= 0, "order", order, "a number >= 0, or inf");
  if (order == 1) return entropy_of(p);
  const double peak = *std::max_element(p.begin(), p.end());
  if (std::isinf(order)) return -std::log(peak);
  double sum = 0;
  if (constexpr double kNearOne = .1; std::abs(order - 1) < kNearOne) {  // log sum p^a vanishes near 1, as 1 - a does
    for (double x : p)
      if (x > 0) sum += x * std::expm1((order - 1) * std::log(x));
    return std::log1p(sum) / (1 - order);
  }
  // Relative to the peak, so that large orders do not underflow.
  for (double x : p)
    if (x > 0) sum += std::pow(x / peak, order);
  return (order * std::log(peak) + std::log(sum)) / (1 - order);
}

std::vector<double> row_marginal(const Table& joint) {
  std::vector<double> out(joint.rows, 0.0);
  for (std::size_t x = 0; x < joint.rows; ++x)
    for (double p : joint.row(x)) out[x] += p;
  return out;
}

std::vector<double> column_marginal(const Table& joint) {
  std::vector<double> out(joint.columns, 0.0);
  for (std::size_t x = 0; x < joint.rows; ++x)
    for (std::size_t y = 0; y < joint.columns; ++y) out[y] += joint(x, y);
  return out;
}

double mutual_information(const Table& joint) {
  require_joint(joint);
  const std::vector<double> px = row_marginal(joint), py = column_marginal(joint);
  double sum = 0;
  for (std::size_t x = 0; x < joint.rows; ++x)
    for (std::size_t y = 0; y < joint.columns; ++y)
      if (joint(x, y) > 0) sum += joint(x, y) * std::log(joint(x, y) / (px[x] * py[y]));
  return sum;
}

double conditional_entropy(const Table& joint) {
  require_joint(joint);
  const std::vector<double> px = row_marginal(joint);
  double sum = 0;
  for (std::size_t x = 0; x < joint.rows; ++x)
    for (double p : joint.row(x))
      if (p > 0) sum -= p * std::log(p / px[x]);
  return sum;
}

Joint Joint::marginal(std::span<const std::size_t> variables) const {
  if (const std::size_t cells = cells_of(sizes); cells != p.size())
    throw Error("joint", std::to_string(p.size()) + " probabilities",
                std::to_string(cells) + ", the product of its sizes");
  Joint out;
  for (std::size_t v : variables) {
    require_below("a variable", v, sizes.size());
    out.sizes.push_back(sizes[v]);
  }
  out.p.assign(cells_of(out.sizes), 0.0);
  std::vector<std::size_t> index(sizes.size(), 0);
  for (double mass : p) {
    std::size_t cell = 0;
    for (std::size_t v : variables) cell = cell * sizes[v] + index[v];
    out.p[cell] += mass;
    for (std::size_t v = sizes.size(); v-- > 0;) {
      if (++index[v] < sizes[v]) break;
      index[v] = 0;
    }
  }
  return out;
}

double entropy(const Joint& joint, const Variables& variables) {
  require_distribution("joint", joint.p);
  return entropy_of(joint.marginal(variables).p);
}

double conditional_entropy(const Joint& joint, const Variables& of, const Variables& given) {
  return entropy(joint, joined(of, given)) - entropy(joint, given);
}

double mutual_information(const Joint& joint, const Variables& a, const Variables& b, const Variables& given) {
  return conditional_entropy(joint, a, given) - conditional_entropy(joint, a, joined(b, given));
}

double co_information(const Joint& joint, const std::vector<Variables>& groups) {
  constexpr std::size_t kMostGroups = 20;  // 2^groups terms
  if (groups.size() > kMostGroups) throw Error("groups", std::to_string(groups.size()), "at most 20");
  double sum = 0;
  for (std::size_t subset = 1; subset < (std::size_t{1} << groups.size()); ++subset) {
    Variables members;
    int sign = 1;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (!((subset >> g) & 1)) continue;
      members = joined(members, groups[g]);
      sign = -sign;
    }
    sum -= sign * entropy(joint, members);
  }
  return sum;
}

double total_correlation(const Joint& joint) {
  double sum = -entropy(joint, all_of(joint));
  for (std::size_t v = 0; v < joint.sizes.size(); ++v) sum += entropy(joint, {v});
  return sum;
}

double dual_total_correlation(const Joint& joint) {
  const Variables all = all_of(joint);
  const double whole = entropy(joint, all);
  double sum = whole;
  for (std::size_t v : all) {
    Variables others;
    for (std::size_t w : all)
      if (w != v) others.push_back(w);
    sum -= whole - entropy(joint, others);
  }
  return sum;
}

}  // namespace isentropic::information
