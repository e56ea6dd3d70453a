// Softmax as the limit of linear attention with an increasing number of features.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/sparsity/measure.hpp"
#include "experiments/tools/algebra.hpp"
#include "experiments/tools/estimate.hpp"
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger::concentration {
namespace {

using experiments::sparsity::measure;

double taylor(int degree, double x) {
  double out = 1;
  for (int k = degree; k >= 1; --k) out = 1 + out * x / k;
  return out;
}

// All monomials x^i y^j / sqrt(i! j!) up to a degree: their inner product is the Taylor kernel of q.k in two
// dimensions, with C(2 + p, p) features.
std::vector<double> monomials(double x, double y, int degree) {
  std::vector<double> out;
  for (int i = 0; i <= degree; ++i)
    for (int j = 0; i + j <= degree; ++j)
      out.push_back(std::pow(x, i) * std::pow(y, j) / std::sqrt(std::tgamma(i + 1.0) * std::tgamma(j + 1.0)));
  return out;
}

void taylor_kernels(Check& check) {
  const std::pair<int, double> known[] = {{2, 0.577}, {4, 0.293}, {6, 0.147}, {8, 0.074}, {12, 0.0185}};
  for (const auto& [degree, floor] : known) {
    const Map map = [degree = degree](double x) { return taylor(degree, x); };
    check.relative(fmt::format("floor of degree {}, gamma = 10^4", degree), sparsity_by_quadrature(map, {0, 1e4}),
                   taylor_sparsity_floor(degree), 1e-4);
    check.near(fmt::format("the floor known for degree {}", degree), taylor_sparsity_floor(degree), floor, 5e-4);
  }
  const std::pair<int, double> at_two[] = {{2, 0.655},  {4, 0.403},   {6, 0.271},  {8, 0.202},
                                           {12, 0.149}, {20, 0.1355}, {30, 0.1353}};
  for (const auto& [degree, s] : at_two) {
    const Map map = [degree = degree](double x) { return taylor(degree, x); };
    const double found = sparsity_by_quadrature(map, {0, 2});
    check.near(fmt::format("S of degree {}, gamma = 2", degree), found, sparsity_of_taylor(degree, 2), 1e-9);
    check.near(fmt::format("S known for degree {}, gamma = 2", degree), found, s, 6e-4);
  }
  check.near("S of degree 30, gamma = 2, against exp", sparsity_of_taylor(30, 2), sparsity_of_exp({0, 2}), 1e-4);
}

// Keys of two coordinates, each with deviation gamma, so that the scores of a unit query have deviation gamma.
Table gaussian_keys(Check& check, std::size_t n, double gamma) { return {n, 2, check.random().normals(2 * n, gamma)}; }

Table monomials_of(const Table& keys, int degree) {
  Table out(keys.rows, monomials(0, 0, degree).size());
  for (std::size_t r = 0; r < keys.rows; ++r) {
    const std::vector<double> features = monomials(keys(r, 0), keys(r, 1), degree);
    std::copy(features.begin(), features.end(), out.row(r).begin());
  }
  return out;
}

constexpr double kQuery[] = {0.6, 0.8};

double linear_sparsity(const Table& keys, int degree) {
  return measure(monomials(kQuery[0], kQuery[1], degree), monomials_of(keys, degree), kProduct).sparsity;
}

void kernel_on_features(Check& check) {
  for (const int degree : {2, 4}) {
    const std::vector<double> query = monomials(kQuery[0], kQuery[1], degree);
    check.near(fmt::format("features of two dimensions up to degree {}: C({}, 2)", degree, degree + 2),
               static_cast<double>(query.size()), (degree + 2) * (degree + 1) / 2.0, 0);
    check.near(fmt::format("their inner product at q.k = -0.9, degree {}", degree),
               dot(query, monomials(0.5, -1.5, degree)), taylor(degree, -0.9), 1e-12);
    const Estimate found =
        mean_of(check.effort(20, 200), [&] { return linear_sparsity(gaussian_keys(check, 2000, 1), degree); });
    check.near(fmt::format("S of the kernel on {} features, gamma = 1", query.size()), found,
               sparsity_of_taylor(degree, 1), 0.005);
  }
}

// S of linear attention over the features minus S of softmax attention, both by the kernels on the same keys.
Estimate gap_to_softmax(Check& check, int degree, double gamma) {
  return mean_of(check.effort(12, 60), [&] {
    const Table keys = gaussian_keys(check, 4000, gamma);
    return linear_sparsity(keys, degree) - measure(kQuery, keys, ScoreMap::softmax()).sparsity;
  });
}

void gaps_to_softmax(Check& check) {
  double previous = 1;
  std::int64_t wider = 0;
  for (const int degree : {2, 4, 6, 8, 12}) {
    const Estimate gap = gap_to_softmax(check, degree, 2);
    wider += gap.mean >= previous;
    previous = gap.mean;
    check.at_least(fmt::format("S of degree {} less S of softmax, gamma = 2", degree), gap.mean, 0);
    // A spread that this degree can no longer follow. Beyond degree 8 the floor of S is that of the 4000 keys
    // themselves.
    if (degree > 8) continue;
    const Estimate wide = gap_to_softmax(check, degree, 10);
    check.at_least(fmt::format("S of degree {} less S of softmax, gamma = 10, less five errors", degree),
                   wide.mean - 5 * wide.error, 0);
  }
  check.never("degrees of 5 that widen the gap", wider);
  check.at_most("gap left at degree 12, 91 features, gamma = 2", previous, 0.03);
}

report::Plot taylor_plot() {
  const std::vector<double> gammas = steps(0.05, 4, 80);
  report::Plot plot{"S of exp cut off after degree p", "gamma", "S", {}, report::PlotScale::log, {}};
  for (const int degree : {2, 4, 8, 12}) {
    report::PlotCurve curve{fmt::format("p = {}", degree), gammas, {}, report::CurveStyle::formula};
    for (const double gamma : gammas) curve.y.push_back(sparsity_of_taylor(degree, gamma));
    plot.curves.push_back(curve);
  }
  report::PlotCurve curve{"exp", gammas, {}, report::CurveStyle::bound};
  for (const double gamma : gammas) curve.y.push_back(sparsity_of_exp({0, gamma}));
  plot.curves.push_back(curve);
  return plot;
}

void infinite_dimension(Check& check) {
  taylor_kernels(check);
  kernel_on_features(check);
  gaps_to_softmax(check);
  check.plot(taylor_plot());
}

}  // namespace

std::vector<Claim> infinite_dimension_claims() {
  return {computed("004-9d", Verdict::holds,
                   "Softmax is linear attention of infinite dimension; only d -> inf closes the gap",
                   "by correlated features: exp cut off after degree p needs C(d + p, p) of them and has the floor "
                   "(p-1)!!/sqrt((2p-1)!!)",
                   infinite_dimension)};
}

}  // namespace isentropic::ledger::concentration
