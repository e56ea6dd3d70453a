// What attention is, and the statement that noise on its scores hardly matters.
#include <algorithm>
#include <cmath>

#include "experiments/noise/deviation.hpp"
#include "experiments/tools/kernels.hpp"
#include "ledger/robustness/subjects.hpp"

namespace isentropic::ledger::robustness {

using namespace experiments::noise;
namespace {

// All weight on two keys of value 1 and -1, however many others there are.
Row two_key_row(std::size_t n) {
  Row row{std::vector<double>(n, -20.0), std::vector<double>(n, 0.0)};
  row.scores[0] = row.scores[1] = 0;
  row.values[0] = 1, row.values[1] = -1;
  return row;
}

void weighted_mean(Check& check) {
  const std::size_t n = 16, d = 3;
  const std::vector<double> s = check.random().normals(n);
  const Table v(n, d, check.random().normals(n * d));
  const std::vector<double> output = output_of(s, v);
  double mass = 0, worst = 0;
  for (double x : s) mass += std::exp(x);
  for (std::size_t c = 0; c < d; ++c) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(s[i]) * v(i, c);
    worst = std::max(worst, std::abs(output[c] - sum / mass));
  }
  check.near("greatest difference, n = 16", worst, 0, 1e-12);
}

void noise_hardly_matters(Check& check) {
  const Disturbance noise{NoiseLaw::gaussian(1)};
  const double ratio = noise.law.variance_ratio();
  const std::int64_t keys = check.effort(3'000'000, 20'000'000);
  std::vector<double> n_axis, measured, predicted, plateau;
  for (const auto& [n, quoted] : {std::pair<std::size_t, double>{64, 0.154}, {1024, 0.042}, {16384, 0.010}}) {
    const auto length = static_cast<double>(n);
    const std::string where = " at n = " + std::to_string(n);
    const std::int64_t draws = std::min<std::int64_t>(keys / static_cast<std::int64_t>(n), keys / 400);
    const Row row = flat_row(n);
    const double rms = noise_effect(weights_of(row.scores), row.value_table(), ratio).rms;
    const Estimate flat = deviation(row, noise, draws, check.random()).rms();
    // The omitted terms are a few times r sum a^2 = r / n in relative size: at n = 64 the formula is 7 % too high.
    check.near("rms of flat weights" + where, flat, rms, 3 * rms * ratio / length);
    // Quoted from 4000 draws over one draw of the values N(0, 1), whose own size varies by 1 / sqrt(2 n).
    check.near("the same, quoted" + where, flat, quoted, 5e-4 + 5 * rms * std::sqrt(1 / 8000.0 + 1 / (2 * length)));
    const std::int64_t few = std::max<std::int64_t>(draws / 4, 200);
    const Estimate two = deviation(two_key_row(n), noise, few, check.random()).rms();
    check.near("rms of two keys" + where, two, two_key_gaussian_rms(1));
    n_axis.push_back(length), measured.push_back(flat.mean), predicted.push_back(rms), plateau.push_back(two.mean);
  }
  check.near("rms of two keys, quoted", two_key_gaussian_rms(1), 0.52, 0.005);
  const Row row = check.choose(flat_row(1024), two_key_row(1024));
  check.at_most("rms at n = 1024, to be called robust", deviation(row, noise, 300, check.random()).rms().mean, 0.1);
  check.plot({.title = "Noise N(0, 1) on the scores",
              .x_label = "n",
              .y_label = "rms change of the output",
              .x_scale = report::PlotScale::log,
              .y_scale = report::PlotScale::log,
              .curves = {{"flat weights", n_axis, measured},
                         {"sqrt(r sum a^2 |v - o|^2)", n_axis, predicted, report::CurveStyle::formula},
                         {"two keys carry all", n_axis, plateau}}});
}

void noise_factor_cancels(Check& check) {
  const std::size_t n = 4096;
  const std::int64_t draws = check.effort(100, 1000);
  const NoiseLaw law = NoiseLaw::gaussian(1);
  const Row row = flat_row(n);
  const Deviation leaning = deviation(row, {law, 1, 0.5}, draws, check.random());
  const Deviation plain = deviation(row, {law}, draws, check.random());
  check.near("mean shift of the output at n = 4096", check.choose(plain.bias, leaning.bias), 0, 2e-3);
  check.near("shift under noise 0.5 v + N(0, 1)", leaning.bias,
             value_noise_shift(weights_of(row.scores), row.values, 0.5), 2e-3);
  const Row uneven = alternating_row(n);  // its output is not 0 without noise
  check.near("the same on scores and values 0, 1, 0, 1, ...",
             deviation(uneven, {law, 1, 0.5}, draws, check.random()).bias,
             value_noise_shift(weights_of(uneven.scores), uneven.values, 0.5), 2e-3);
  // A single draw; it varies by sqrt(r (1 - tanh^2) / n).
  check.near("shift under noise 0.5 v + N(0, 1), quoted from one draw", leaning.bias, 0.470,
             5 * std::sqrt(law.variance_ratio() / static_cast<double>(n)));
  std::vector<double> shifted = check.random().normals(50);
  const Table v(50, 1, check.random().normals(50));
  const double before = output_of(shifted, v).front();
  for (double& s : shifted) s += 7.3;
  check.near("a common shift of 7.3 changes the output by", output_of(shifted, v).front() - before, 0, 1e-12);
}

}  // namespace

std::vector<Claim> first_statement_claims() {
  using enum Verdict;
  return {
      computed("001-P1", holds, "Attention returns the mean of the values under weights proportional to e^score", "",
               weighted_mean),
      computed("001-P2", holds_if, "Independent noise on the scores leaves the output nearly unchanged",
               "if r sum_i a_i^2 |v_i - o|^2 is small, r = Var(e^eps)/(E e^eps)^2 is finite and the noise does not "
               "depend on the values; a large n alone is not enough",
               noise_hardly_matters),
      computed("001-P3", holds_if, "The noise factor leaves numerator and denominator as the same mean and cancels",
               "if the noise is independent of the values: noise c v shifts the output by tanh(c) for values +-1",
               noise_factor_cancels),
  };
}

}  // namespace isentropic::ledger::robustness
