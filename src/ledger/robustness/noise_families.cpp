// Gaussian, uniform and Laplace noise: their exponential moments, and what these imply for the rate.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "experiments/noise/deviation.hpp"
#include "experiments/tools/kernels.hpp"
#include "ledger/robustness/quoted_powers.hpp"
#include "ledger/robustness/subjects.hpp"

namespace isentropic::ledger::robustness {

using namespace experiments::noise;
namespace {

// Simpson's rule on a smooth piece.
template <class Function>
double integral(Function&& f, double low, double high, int cells = 20'000) {
  const double h = (high - low) / cells;
  double sum = f(low) + f(high);
  for (int i = 1; i < cells; ++i) sum += (i % 2 == 1 ? 4 : 2) * f(low + h * i);
  return sum * h / 3;
}

std::string at(const char* what, double x) { return fmt::format("{} {:g}", what, x); }

void gaussian_moment(Check& check) {
  for (const double sigma : {0.5, 1.0, 2.0}) {
    const auto density = [&](double t) {
      return std::exp(t - t * t / (2 * sigma * sigma)) / (sigma * std::sqrt(2 * std::numbers::pi));
    };
    const double expected = NoiseLaw::gaussian(sigma).exponential_moment();
    check.near(at("E e^eps by quadrature, sigma =", sigma), integral(density, -20 * sigma, 20 * sigma), expected,
               1e-10 * expected);
  }
}

void gaussian_noise_averages_out(Check& check) {
  const std::vector<std::size_t> lengths = {64, 512, 4096};
  const std::int64_t draws = check.effort(1200, 3000);
  const Decay mild = decay(lengths, NoiseLaw::gaussian(1), draws, check.random());
  const Decay wild = decay(lengths, NoiseLaw::gaussian(3), draws, check.random());
  const Estimate power = check.choose(mild.power, wild.power);
  check.near("power of n in the median change", power, -0.5, 0.02);
  check.between("power for sigma = 3, far from n >> e^9 = 8103", wild.power.mean, -0.35, -0.05);
  if (check.thorough())
    check_quoted_powers(check,
                        {{NoiseLaw::gaussian(1), "sigma = 1", -0.499}, {NoiseLaw::gaussian(3), "sigma = 3", -0.27}});
  std::vector<double> n, one, three, formula;
  for (std::size_t j = 0; j < lengths.size(); ++j) {
    n.push_back(static_cast<double>(lengths[j]));
    one.push_back(mild.medians[j].mean), three.push_back(wild.medians[j].mean);
    // The median of |x| for a normal x is 0.6745 times its deviation.
    formula.push_back(0.6745 * std::sqrt(NoiseLaw::gaussian(1).variance_ratio() / n.back()));
  }
  check.plot({.title = "Gaussian noise on flat attention",
              .x_label = "n",
              .y_label = "median change of the output",
              .x_scale = report::PlotScale::log,
              .y_scale = report::PlotScale::log,
              .curves = {{"sigma = 1", n, one},
                         {"0.67 sqrt((e - 1) / n)", n, formula, report::CurveStyle::formula},
                         {"sigma = 3", n, three}}});
}

void uniform_moment(Check& check) {
  for (const double a : {0.5, 1.0, 3.0}) {
    const double expected = NoiseLaw::uniform(a).exponential_moment();
    check.near(at("E e^eps by quadrature, a =", a), integral([](double t) { return std::exp(t); }, -a, a) / (2 * a),
               expected, 1e-10 * expected);
  }
}

// The part of E e^eps from |eps| between `low` and `high`, for Laplace noise of scale b.
double laplace_part(double b, double low, double high) {
  return integral([&](double t) { return (std::exp(t - t / b) + std::exp(-t - t / b)) / (2 * b); }, low, high);
}

void laplace_moment(Check& check) {
  // According to the printed form, the integral diverges only beyond b = 1.
  const double edge = check.choose(0.9, 1.0);
  check.at_most(at("part of the integral beyond |eps| = 100, scale", edge), laplace_part(edge, 100, 1000), 1e-3);
  for (const double b : {0.3, 0.5, 0.9})
    check.near(at("E e^eps by quadrature, b =", b), laplace_part(b, 0, 30) + laplace_part(b, 30, 400),
               NoiseLaw::laplace(b).exponential_moment(), 1e-9);
  for (const double end : {10.0, 100.0, 1000.0})
    check.near(at("integral at b = 1 cut at", end), laplace_part(1, 0, end), end / 2 + 0.25, 1e-3);
  check.near("1 / E e^eps at b = 1", 1 / NoiseLaw::laplace(1).exponential_moment(), 0, 0);
}

void finite_mean_is_enough(Check& check) {
  const std::vector<std::size_t> lengths = {64, 512, 4096};
  const std::int64_t draws = check.effort(1000, 3000);
  const Decay light = decay(lengths, NoiseLaw::laplace(0.3), draws, check.random());
  const Decay middle = decay(lengths, NoiseLaw::laplace(0.75), draws, check.random());
  const Decay heavy = decay(lengths, NoiseLaw::laplace(1.5), draws, check.random());
  check.near("power of n in the median change", check.choose(light.power, middle.power), -0.5, 0.03);
  check.near("power for b = 0.75", middle.power, NoiseLaw::laplace(0.75).rate_exponent().value(), 0.05);
  check.near("power for b = 1.5: no averaging", heavy.power, 0, 0.03);
  if (check.thorough())
    check_quoted_powers(check, {{NoiseLaw::laplace(0.3), "b = 0.3", -0.489},
                                {NoiseLaw::laplace(0.75), "b = 0.75", -0.256},
                                {NoiseLaw::laplace(0.9), "b = 0.9, far from -0.10", -0.167},
                                {NoiseLaw::laplace(1.5), "b = 1.5", -0.014}});
  std::vector<double> n;
  std::vector<report::PlotCurve> curves;
  for (const std::size_t length : lengths) n.push_back(static_cast<double>(length));
  for (const auto& [label, found] : {std::pair{"b = 0.3", &light}, {"b = 0.75", &middle}, {"b = 1.5", &heavy}}) {
    curves.push_back({label, n, {}});
    for (const Estimate& median : found->medians) curves.back().y.push_back(median.mean);
  }
  const auto through_first = [&](double power) {
    std::vector<double> y;
    for (double x : n) y.push_back(middle.medians[0].mean * std::pow(x / n[0], power));
    return y;
  };
  curves.push_back({"n^-(1 - b), b = 0.75", n, through_first(-0.25), report::CurveStyle::formula});
  curves.push_back({"n^-1/2", n, through_first(-0.5), report::CurveStyle::bound});
  check.plot({.title = "Laplace noise on flat attention",
              .x_label = "n",
              .y_label = "median change of the output",
              .x_scale = report::PlotScale::log,
              .y_scale = report::PlotScale::log,
              .curves = curves});
}

}  // namespace

std::vector<Claim> noise_family_claims() {
  using enum Verdict;
  return {
      computed("001-24", holds, "Gaussian noise: E e^eps = e^{sigma^2/2}", "", gaussian_moment),
      computed("001-25", holds_if, "Gaussian noise averages out", "if n is far above e^{sigma^2}",
               gaussian_noise_averages_out),
      computed("001-26", holds, "Uniform noise on [-a, a]: E e^eps = sinh(a)/a", "", uniform_moment),
      computed("001-27", holds_if, "Laplace noise: E e^eps is finite unless b > 1",
               "if b < 1, and then it is 1/(1 - b^2); at b = 1 it is infinite already", laplace_moment),
      computed("001-s5", holds_if, "Noise averages out whenever E e^eps is finite",
               "it does, but at the rate n^-1/2 only if E e^{2 eps} is finite too (Laplace b < 1/2); for 1/2 < b < 1 "
               "the rate is n^-(1-b)",
               finite_mean_is_enough),
  };
}

}  // namespace isentropic::ledger::robustness
