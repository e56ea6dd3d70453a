// Entropy, divergence, mutual information, data processing: 10.4.1 ... 10.4.5.
#include <algorithm>
#include <limits>
#include <numbers>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/random_laws.hpp"
#include "isentropic/information/entropy.hpp"
#include "isentropic/information/mutual_information.hpp"
#include "ledger/bottleneck/subjects.hpp"

namespace isentropic::ledger::bottleneck {
namespace {

constexpr double kRounding = 1e-12;

// From nearly one-hot to nearly uniform.
std::vector<double> any_distribution(Random& random) {
  constexpr double kAlphas[] = {.05, .3, 1, 5};
  return dirichlet(random, static_cast<std::size_t>(random.integer(2, 19)), kAlphas[random.integer(0, 3)]);
}

// ---- 10.4.1: entropy ----

void entropy_is_mean_surprise(Check& check) {
  const std::vector<double> p = {.5, .25, .25};
  check.near("H(1/2, 1/4, 1/4) in bits", to_bits(entropy(p)), 1.5, kRounding);
  check.near("the same in nats", entropy(p), 1.03972, 5e-6);
  check.near("H of a one-hot distribution", entropy(std::vector<double>{0, 1, 0}), 0, 0);
  const std::vector<double> q = dirichlet(check.random(), 7, 1);
  const Estimate surprise =
      mean_of(check.effort(40000, 1000000), [&] { return -std::log(q[draw(check.random(), q)]); });
  check.near("mean of -log p over draws, 7 outcomes", surprise, entropy(q));
}

void entropy_is_not_negative(Check& check) {
  double least = std::numeric_limits<double>::infinity();
  std::int64_t hidden = 0;  // zero entropy although several outcomes have mass
  for (std::int64_t t = 0; t < 20000; ++t) {
    const std::vector<double> p = any_distribution(check.random());
    const double h = entropy(p);
    least = std::min(least, h);
    hidden += h < 1e-9 && *std::max_element(p.begin(), p.end()) < 1 - 1e-9;
  }
  Table narrow(static_cast<std::size_t>(check.effort(10000, 200000)), 1);
  for (double& x : narrow.values) x = check.random().uniform(0, .1);
  const double density = kozachenko_leonenko_entropy(narrow, 3, serial_executor());
  check.at_least("least entropy", check.choose(least, density), 0, kRounding);
  // Uniform density: the estimate's deviation is sqrt(trigamma(3) / N) = .63 / sqrt(N).
  check.near("differential entropy of U(0, 0.1)", density, std::log(.1),
             5 * .63 / std::sqrt(static_cast<double>(narrow.rows)));
  check.never("H = 0 for a variable that varies", hidden);
}

void entropy_is_at_most_log_n(Check& check) {
  std::int64_t above = 0, equal_without_uniform = 0;
  for (std::int64_t t = 0; t < 20000; ++t) {
    const std::vector<double> p = any_distribution(check.random());
    const double n = static_cast<double>(p.size()), gap = std::log(n) - entropy(p);
    double distance = 0;
    for (double x : p) distance += std::abs(x - 1 / n);
    above += gap < -kRounding;
    equal_without_uniform += gap < distance * distance / 2 - kRounding;  // Pinsker: gap = KL(p || uniform)
  }
  check.never("H > log n", above);
  check.never("log n - H < |p - uniform|^2 / 2", equal_without_uniform);
  check.near("H of ten equal outcomes", entropy(std::vector<double>(10, .1)), std::log(10), kRounding);
}

void base_of_the_logarithm(Check& check) {
  const std::vector<double> q = dirichlet(check.random(), 6, 1);
  check.near("bits times log 2", to_bits(entropy(q)) * std::numbers::ln2, entropy(q), kRounding);
  // The gradient, moving mass from the second outcome to the first.
  const auto moved = [](double mass) { return entropy(std::vector<double>{.3 + mass, .2 - mass, .5}); };
  const double step = 1e-5;
  const double nats = (moved(step) - moved(-step)) / (2 * step);
  const double bits = (to_bits(moved(step)) - to_bits(moved(-step))) / (2 * step);
  check.near("gradient in nats: log(p2 / p1)", nats, std::log(.2 / .3), 1e-8);
  check.near("gradient in bits : in nats", bits / nats, 1.442695, 1e-6);
}

// ---- 10.4.2: divergence ----

void divergence_needs_support(Check& check) {
  const std::vector<double> fair = {.5, .5};
  const std::vector<double> lopsided = check.choose(std::vector<double>{1 - 1e-9, 1e-9}, std::vector<double>{1, 0});
  check.finite("KL((1/2, 1/2) || q)", kl_divergence(fair, lopsided));
  check.near("KL((1/2, 1/2) || (1, 0))", kl_divergence(fair, std::vector<double>{1, 0}),
             std::numeric_limits<double>::infinity(), 0);
  check.near("KL((1, 0) || (1/2, 1/2)): 0 log 0 = 0", kl_divergence(std::vector<double>{1, 0}, fair), std::numbers::ln2,
             kRounding);
  const std::vector<double> p = dirichlet(check.random(), 6, 1), q = dirichlet(check.random(), 6, 1);
  const Estimate ratio = mean_of(check.effort(40000, 1000000), [&] {
    const std::size_t x = draw(check.random(), p);
    return std::log(p[x] / q[x]);
  });
  check.near("mean of log p/q over draws of p", ratio, kl_divergence(p, q));
}

void divergence_is_not_negative(Check& check) {
  constexpr std::int64_t kPairs = 20000;
  std::int64_t negative = 0, below_pinsker = 0;
  double least = std::numeric_limits<double>::infinity(), of_itself = 0, asymmetry = 0;
  Mean log_least, log_asymmetry;
  for (std::int64_t t = 1; t <= check.effort(6, 40) * kPairs; ++t) {
    const auto n = static_cast<std::size_t>(check.random().integer(2, 19));
    const std::vector<double> p = check.random().probabilities(n), q = check.random().probabilities(n);
    const double forth = kl_divergence(p, q);
    double distance = 0;
    for (std::size_t x = 0; x < n; ++x) distance += std::abs(p[x] - q[x]);
    negative += forth < -1e-13;
    below_pinsker += forth < distance * distance / 2 - kRounding;
    least = std::min(least, forth);
    of_itself = std::max(of_itself, std::abs(kl_divergence(p, p)));
    asymmetry = std::max(asymmetry, std::abs(forth - kl_divergence(q, p)));
    if (t % kPairs != 0) continue;
    log_least.add(std::log(least)), log_asymmetry.add(std::log(asymmetry));
    least = std::numeric_limits<double>::infinity(), asymmetry = 0;
  }
  check.never("KL < 0", negative);
  check.never("KL < |p - q|^2 / 2 (Pinsker)", below_pinsker);
  check.near("largest KL(p || p)", of_itself, 0, 0);
  check.as_quoted("log of the least KL in 20000 pairs", log_least, std::log(5.4e-8), 1);
  check.as_quoted("log of the largest |KL(p || q) - KL(q || p)|", log_asymmetry, std::log(4.08), 1);
  const std::vector<double> biased = {.9, .1}, fair = {.5, .5};
  check.near("KL((.9, .1) || fair)", kl_divergence(biased, fair), .9 * std::log(1.8) + .1 * std::log(.2), kRounding);
  check.near("KL(fair || (.9, .1)), another number", kl_divergence(fair, biased), -std::log(.6), kRounding);
}

// ---- 10.4.3, 10.4.4: mutual information ----

void information_is_a_divergence(Check& check) {
  const Table joint = {{.25, 0}, {.125, .125}, {0, .5}};
  const double by_hand = .25 * std::log(8. / 3) + .125 * std::log(4. / 3) + .125 * std::log(.8) + .5 * std::log(1.6);
  check.near("3 x 2 table by hand", mutual_information(joint), by_hand, kRounding);
  const std::vector<double> x = row_marginal(joint), y = column_marginal(joint);
  const Estimate ratio = mean_of(check.effort(40000, 1000000), [&] {
    const std::size_t cell = draw(check.random(), joint.values);
    return std::log(joint.values[cell] / (x[cell / 2] * y[cell % 2]));
  });
  check.near("mean of log p(x,y) / (p(x) p(y)) over draws", ratio, by_hand);
}

void forms_of_information_agree(Check& check) {
  double error = 0;
  std::int64_t negative = 0;
  for (std::int64_t t = 0; t < 5000; ++t) {
    const auto rows = static_cast<std::size_t>(check.random().integer(2, 8));
    const auto columns = static_cast<std::size_t>(check.random().integer(2, 8));
    const Table joint = random_joint(check.random(), rows, columns, .4), mirror = transposed(joint);
    const double information = mutual_information(joint);
    const double h_x = entropy(row_marginal(joint)), h_y = entropy(column_marginal(joint));
    for (double form : {h_x - conditional_entropy(mirror), h_y - conditional_entropy(joint),
                        h_x + h_y - entropy(joint.values), mutual_information(mirror)})
      error = std::max(error, std::abs(form - information));
    negative += information < -kRounding;
  }
  check.near("largest difference of the forms", error, 0, kRounding);
  check.never("I < 0", negative);
  const Table covariance = {{1, .8}, {.8, 1}}, unit = {{1}};
  check.near("Gaussian, rho = .8", gaussian_mutual_information(covariance, 1), .510826, 5e-7);
  check.near("Gaussian, by differential entropies", 2 * gaussian_entropy(unit) - gaussian_entropy(covariance),
             -std::log(1 - .64) / 2, kRounding);
}

void information_about_itself(Check& check) {
  const std::vector<double> p = dirichlet(check.random(), 8, 1);
  Table copy(8, 8);
  for (std::size_t x = 0; x < 8; ++x) copy(x, x) = p[x];

  const Table normals(200000, 1, check.random().normals(200000));
  const std::vector<double> bins = {10, 100, 1000}, quoted = {1.54, 3.81, 6.11};
  std::vector<double> information;
  for (double b : bins)
    information.push_back(binned_mutual_information(normals, normals, static_cast<int>(b), Binning::equal_width,
                                                    EntropyEstimator::plug_in));

  check.near("I(X;X) - H(X)",
             check.choose(mutual_information(copy) - entropy(p), information.back() - gaussian_entropy(Table{{1}})), 0,
             kRounding);
  check.near("a density: rise of binned I(X;X), 10 -> 100 bins", information[1] - information[0], std::log(10), .05);
  check.near("rise, 100 -> 1000 bins", information[2] - information[1], std::log(10), .05);
  // Bins divide the range of the sample, whose logarithm has a standard deviation of .042.
  for (std::size_t x = 0; x < bins.size(); ++x)
    check.near("binned I(X;X) at " + std::to_string(static_cast<int>(bins[x])) + " bins", information[x], quoted[x],
               .2);
  check.plot({.title = "I(X;X) of a Gaussian has no value of its own: it follows the bins",
              .x_label = "bins",
              .y_label = "binned I(X;X), nats",
              .x_scale = report::PlotScale::log,
              .curves = {{"measured", bins, information},
                         {"log(bins / 10) + 1.54",
                          bins,
                          {quoted[0], quoted[0] + std::log(10), quoted[0] + 2 * std::log(10)},
                          report::CurveStyle::formula}}});
}

void information_without_correlation(Check& check) {
  // Y = X^2, X uniform on {-1, 0, 1}.
  const Table joint = {{0, 1. / 3}, {1. / 3, 0}, {0, 1. / 3}};
  double covariance = 0, mean_y = 0;
  for (std::size_t x = 0; x < 3; ++x)
    for (std::size_t y = 0; y < 2; ++y) {
      covariance += joint(x, y) * (static_cast<double>(x) - 1) * static_cast<double>(y);
      mean_y += joint(x, y) * static_cast<double>(y);
    }
  check.near("covariance of X and X^2", covariance, 0, kRounding);
  check.near("I(X; X^2)", mutual_information(joint), std::log(3) - 2. / 3 * std::log(2), kRounding);
  check.near("I(X; X^2), as quoted", mutual_information(joint), .6365, 5e-5);
  check.near("P(X^2 = 1)", mean_y, 2. / 3, kRounding);
}

// ---- 10.4.5: data processing ----

Joint chain(std::span<const double> input, const Table& first, const Table& second) {
  Joint out{{first.rows, first.columns, second.columns}, {}};
  for (std::size_t x = 0; x < first.rows; ++x)
    for (std::size_t y = 0; y < first.columns; ++y)
      for (std::size_t z = 0; z < second.columns; ++z) out.p.push_back(input[x] * first(x, y) * second(y, z));
  return out;
}

void data_processing_inequality(Check& check) {
  Random& random = check.random();
  const auto size = [&] { return static_cast<std::size_t>(random.integer(2, 6)); };
  const std::int64_t draws = check.effort(6000, 20000);
  std::int64_t gained_by_chain = 0, gained_freely = 0, gained_at_the_end = 0;
  Mean share;
  double slack_error = 0;
  for (std::int64_t t = 0; t < draws; ++t) {
    const std::size_t a = size(), b = size(), c = size();
    const Joint markov =
        chain(random.probabilities(a), random_channel(random, a, b, .5), random_channel(random, b, c, .5));
    const double x_y = mutual_information(markov, {0}, {1}), x_z = mutual_information(markov, {0}, {2});
    gained_by_chain += x_y < x_z - kRounding;
    gained_at_the_end += mutual_information(markov, {1}, {2}) < x_z - kRounding;
    slack_error = std::max(slack_error, std::abs(x_y - x_z - mutual_information(markov, {0}, {1}, {2})));
    const Joint free{{a, b, c}, dirichlet(random, a * b * c, .3)};
    const bool gained = mutual_information(free, {0}, {1}) < mutual_information(free, {0}, {2}) - kRounding;
    gained_freely += gained, share.add(gained);
  }
  check.never("I(X;Y) < I(X;Z)", check.choose(gained_by_chain, gained_freely));
  check.never("chain: I(Y;Z) < I(X;Z)", gained_at_the_end);
  check.near("chain: I(X;Y) - I(X;Z) - I(X;Y|Z)", slack_error, 0, kRounding);
  // Without a common chain, which of Y and Z says more about X is a coin toss.
  check.near("share of joints that violate it without the chain", share.estimate(), .5);
  check.as_quoted("the same, as counted in 20000 joints", share, .50465, 20000);
  const Table relabel = {{0, 0, 1, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}, {0, 1, 0, 0}};
  const Joint bijective = chain(random.probabilities(5), random_channel(random, 5, 4, 1), relabel);
  check.near("a bijection loses nothing",
             mutual_information(bijective, {0}, {1}) - mutual_information(bijective, {0}, {2}), 0, kRounding);
}

}  // namespace

std::vector<Claim> basic_quantity_claims() {
  return {
      computed("000-10.4.1a", Verdict::holds, "Entropy is the mean of minus the log probability", "0 log 0 = 0",
               entropy_is_mean_surprise),
      computed("000-10.4.1b", Verdict::holds_if, "Entropy is never negative, and zero only for a constant",
               "for discrete variables; differential entropies may have any sign", entropy_is_not_negative),
      computed("000-10.4.1c", Verdict::holds,
               "Entropy of n outcomes is at most log n, reached by the uniform law alone", "",
               entropy_is_at_most_log_n),
      computed("000-10.4.1d", Verdict::holds,
               "The base of the logarithm is a unit: 1 bit = log 2 nats, in gradients too", "", base_of_the_logarithm),
      computed("000-10.4.2a", Verdict::holds_if, "KL(P||Q) is the P-mean of log P/Q",
               "finite only where P is absolutely continuous with respect to Q; +inf otherwise",
               divergence_needs_support),
      computed("000-10.4.2b", Verdict::holds, "KL(P||Q) >= 0, zero only for P = Q", "it is not symmetric",
               divergence_is_not_negative),
      computed("000-10.4.3", Verdict::holds, "Mutual information is KL(p(x,y) || p(x) p(y))", "",
               information_is_a_divergence),
      computed("000-10.4.4a", Verdict::holds, "I = H(X) - H(X|Y) = H(Y) - H(Y|X) = H(X) + H(Y) - H(X,Y) >= 0",
               "with differential entropies for densities", forms_of_information_agree),
      computed("000-10.4.4b", Verdict::holds_if, "I(X;X) = H(X)",
               "for discrete X; for a density I(X;X) is infinite, and a binned value grows with log(bins)",
               information_about_itself),
      computed("000-10.4.4c", Verdict::holds, "Mutual information sees dependence that has no correlation", "",
               information_without_correlation),
      computed("000-10.4.5", Verdict::holds_if, "Processing loses information: I(X;Z) <= I(X;Y)",
               "for a Markov chain X - Y - Z; the loss is I(X;Y|Z) and may be zero", data_processing_inequality),
  };
}

}  // namespace isentropic::ledger::bottleneck
