// Residual connections: 10.4.16.
#include <functional>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/random_laws.hpp"
#include "isentropic/information/attention_matrices.hpp"
#include "isentropic/information/entropy.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

// Bits of X in Z, where X is the row number and Z a function of it.
double bits_kept(Table z) {
  for (double& value : z.values) value = std::round(value * 1e9);
  return to_bits(entropy_from_symbols(z, EntropyEstimator::plug_in));
}

// z + F(z), coordinate by coordinate.
Table residual(Table z, const std::function<double(double)>& branch) {
  for (double& value : z.values) value += branch(value);
  return z;
}

// ---- 10.4.16a ----

// z + relu(z A) B with entries of A and B in {-1, 0, 1}.
Table integer_block(const Table& z, Random& random) {
  Table up(z.columns, 4), down(4, z.columns);
  for (Table* weights : {&up, &down})
    for (double& w : weights->values) w = static_cast<double>(random.integer(-1, 1));
  Table hidden = product(z, up);
  for (double& h : hidden.values) h = std::max(h, 0.);
  Table out = product(hidden, down);
  for (std::size_t x = 0; x < out.values.size(); ++x) out.values[x] += z.values[x];
  return out;
}

// The error of inverting z -> z + tanh(z W), |W| = .9, by the iteration z <- output - tanh(z W).
double inversion_error(Random& random) {
  const std::size_t d = 6;
  Table weights(d, d, random.normals(d * d));
  const double norm = singular_values(weights).front();
  for (double& w : weights.values) w *= .9 / norm;
  const auto branch = [&](const Table& z) {
    Table out = product(z, weights);
    for (double& h : out.values) h = std::tanh(h);
    return out;
  };
  const Table z(50, d, random.normals(50 * d));
  Table output = branch(z), back;
  for (std::size_t x = 0; x < z.values.size(); ++x) output.values[x] += z.values[x];
  back = output;
  for (int t = 0; t < 400; ++t) {
    const Table step = branch(back);
    for (std::size_t x = 0; x < z.values.size(); ++x) back.values[x] = output.values[x] - step.values[x];
  }
  double error = 0;
  for (std::size_t x = 0; x < z.values.size(); ++x) error = std::max(error, std::abs(back.values[x] - z.values[x]));
  return error;
}

void block_cannot_add_information(Check& check) {
  Random& random = check.random();
  std::int64_t raised = 0, lowered = 0;
  Mean loses;
  for (std::int64_t t = 0; t < 3000; ++t) {
    Table z(64, 2);
    for (double& value : z.values) value = static_cast<double>(random.integer(-2, 2));
    const double change = bits_kept(integer_block(z, random)) - bits_kept(z);
    raised += change > 1e-9, lowered += change < -1e-9;
    loses.add(change < -1e-9);
  }
  check.never("random blocks that break the stated direction", check.choose(raised, lowered));
  check.as_quoted("share of random blocks that lose information", loses, 2192 / 3000., 3000);
  const Table z(8, 1, {-4, -3, -2, -1, 0, 1, 2, 3});
  check.near("3 bits in, F = 0: bits out", bits_kept(residual(z, [](double) { return 0.; })), 3, 1e-12);
  check.near("F = -z", bits_kept(residual(z, [](double x) { return -x; })), 0, 1e-12);
  check.near("F = |z| - z", bits_kept(residual(z, [](double x) { return std::abs(x) - x; })), 2.25, 1e-12);
  check.near("F = relu(-2z)", bits_kept(residual(z, [](double x) { return std::max(-2 * x, 0.); })), 2.25, 1e-12);
  check.near("F = tanh(z) / 2", bits_kept(residual(z, [](double x) { return .5 * std::tanh(x); })), 3, 1e-12);
  std::int64_t noisy_raised = 0;
  for (std::int64_t t = 0; t < 2000; ++t) {
    const Table joint = random_joint(random, 5, 8, .3);
    Table map(8, 8);
    for (std::size_t from = 0; from < 8; ++from) map(from, static_cast<std::size_t>(random.integer(0, 7))) = 1;
    noisy_raised += mutual_information(product(joint, map)) > mutual_information(joint) + 1e-12;
  }
  check.never("random Z_in: a map of it says more about X", noisy_raised);
  check.near("Lip(F) = .9: the block undone, largest error", inversion_error(random), 0, 1e-12);
}

// ---- 10.4.16b: the first of two tokens, X both bits ----

void token_may_gain_from_others(Check& check) {
  const auto bits_of_token = [](const std::function<double(double, double)>& branch) {
    Table out(4, 1);
    for (std::size_t x = 0; x < 4; ++x) {
      const auto first = static_cast<double>(x & 1), second = static_cast<double>(x >> 1);
      out(x, 0) = first + branch(first, second);
    }
    return bits_kept(out);
  };
  const double before = bits_of_token([](double, double) { return 0.; });
  const double mixed = bits_of_token([](double a, double b) { return .5 * (a + b) / 2; });
  const double alone = bits_of_token([](double a, double) { return .5 * std::tanh(a); });
  check.at_least("rise of the first token's bits about the sequence", check.choose(mixed, alone) - before, 1, 1e-12);
  check.near("bits before", before, 1, 1e-12);
  check.near("bits after mixing", mixed, 2, 1e-12);
  check.near("mixing that replaces the token: bits", bits_of_token([](double a, double b) { return b - a; }), 1, 1e-12);
}

// ---- 10.4.16c: a readout with fixed noise, signal-to-noise ratio 4 ----

void noisy_readout_sees_scale(Check& check) {
  const std::vector<double> gains = {-.9, -.5, 0, .5, 2}, quoted = {.020, .347, .805, 1.151, 1.805};
  const auto count = static_cast<std::size_t>(check.effort(100000, 1000000));
  std::vector<double> measured;
  for (std::size_t g = 0; g < gains.size(); ++g) {
    Table x(count, 1), readout(count, 1);
    for (std::size_t t = 0; t < count; ++t) {
      x(t, 0) = 2 * check.random().normal();
      readout(t, 0) = (1 + gains[g]) * x(t, 0) + check.random().normal();
    }
    measured.push_back(gaussian_mutual_information_from_samples(x, readout));
    const std::string at = "block of gain " + short_text(1 + gains[g]) + ": nats read";
    // The deviation of -log(1 - r^2) / 2 is |r| / sqrt(N).
    check.near(at, measured[g], quoted[g], 6e-4 + 5 / std::sqrt(static_cast<double>(count)));
  }
  for (double gain : {.1, 3.}) {
    Table x(count, 1), readout(count, 1);
    for (std::size_t t = 0; t < count; ++t) {
      x(t, 0) = 2 * check.random().normal();
      readout(t, 0) = gain * x(t, 0) / (2 * gain) + check.random().normal();
    }
    check.near("output of gain " + short_text(gain) + " normalised: nats read",
               gaussian_mutual_information_from_samples(x, readout), std::log(2) / 2,
               5 / std::sqrt(static_cast<double>(count)));
  }
  check.at_least("a gain of 3 reads as more information, though nothing was added", measured[4] - measured[2], .9);
  check.plot({.title = "A block z + g z loses and gains nothing; a readout with noise sees its scale",
              .x_label = "g",
              .y_label = "I(X; readout), nats",
              .curves = {{"measured", gains, measured}, {"quoted", gains, quoted, report::CurveStyle::formula}}});
}

// ---- 10.4.16e ----

void layer_norm_forgets_mean_and_scale(Check& check) {
  const auto layer_norm = [](std::vector<double> v) {
    double mean = 0, square = 0;
    for (double x : v) mean += x / static_cast<double>(v.size());
    for (double& x : v) x -= mean, square += x * x / static_cast<double>(v.size());
    for (double& x : v) x /= std::sqrt(square);
    return v;
  };
  const std::vector<double> v = check.random().normals(8);
  std::vector<double> moved = v;
  for (double& x : moved) x = 3 * x + 2;
  const std::vector<double> first = layer_norm(v), second = layer_norm(moved);
  double difference = 0;
  for (std::size_t x = 0; x < 8; ++x) difference = std::max(difference, std::abs(first[x] - second[x]));
  check.near("LN(3v + 2) - LN(v)", difference, 0, 1e-13);
}

}  // namespace

std::vector<Claim> residual_claims() {
  return {
      computed("000-10.4.16a", Verdict::corrected,
               "A residual block does not lose information: I(Z_out;X) >= I(Z_in;X)",
               "I(Z_out;X) <= I(Z_in;X), equal where z + F(z) is injective (Lip(F) < 1 suffices)",
               block_cannot_add_information),
      computed("000-10.4.16b", Verdict::holds_if, "A token knows more after the block than before",
               "where F mixes in other positions, and even then not always; for the whole layer never",
               token_may_gain_from_others),
      computed("000-10.4.16c", Verdict::note, "An estimate with fixed noise may rise over a block",
               "it measures scale: normalise before comparing layers", noisy_readout_sees_scale),
      computed("000-10.4.16d", Verdict::holds_if, "Residual connections make very deep networks carry signals unharmed",
               "with a branch scaled by 1/sqrt(depth), or Lip(F) = 1/depth; unscaled, or with Lip(F) = .9 alone, the "
               "Jacobian explodes",
               deep_residuals_need_a_scale),
      computed("000-10.4.16e", Verdict::view, "Layer normalisation has a role for information",
               "decidable: it is not injective, mean and scale are lost", layer_norm_forgets_mean_and_scale),
  };
}

}  // namespace isentropic::ledger::bottleneck
