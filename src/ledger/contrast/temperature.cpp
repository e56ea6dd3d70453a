// The effect of the temperature on the weights and on the gradient.
#include <algorithm>

#include "experiments/tools/estimate.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/theory/contrast.hpp"
#include "ledger/contrast/losses.hpp"
#include "ledger/contrast/subjects.hpp"

namespace isentropic::ledger::contrast {
namespace {

using Vector = std::vector<double>;

// Ten scores, drawn once.
const Vector kTemperedScores = {-0.7297900916348748, 2.030258249644631,   1.6655371089146547, 0.645322091095099,
                                -1.3001348710304397, -1.3281531783144631, 0.5279224608730764, 1.0852813646651849,
                                1.3390998820136848,  -0.2740638080799988};
// The cosines of 62 negatives with the anchor, drawn once from N(0, 0.15^2) truncated to [-0.5, 0.45].
const Vector kNegatives = {-0.4242243460265644,   -0.38334975469712723,
                           -0.3740841417686986,   -0.30299791937208764,
                           -0.25029297639839543,  -0.24582857158357324,
                           -0.16146087601512113,  -0.1582725826807682,
                           -0.14394671397122125,  -0.13888493604725521,
                           -0.13296899147408806,  -0.12978196144124124,
                           -0.11742128669459492,  -0.1002069519163425,
                           -0.08516544091918947,  -0.0757843103421027,
                           -0.06789739381656687,  -0.06671511835241761,
                           -0.05862014658519821,  -0.05289461915123931,
                           -0.0437580348659796,   -0.042193112722702555,
                           -0.04044304910128702,  -0.03653380186186568,
                           -0.035783040986005,    -0.03478985664662842,
                           -0.03233957446346488,  -0.03222433666902837,
                           -0.03082845748586887,  -0.029970319359986997,
                           -0.027425846189660236, -0.00791209623643189,
                           0.003638934761499693,  0.003918725030105043,
                           0.009203026475725738,  0.013727505492352828,
                           0.029072346939693,     0.033867991984188266,
                           0.03437308578198938,   0.041466863928149945,
                           0.06271482700886682,   0.07229180827601787,
                           0.07370523911174867,   0.08107876976322032,
                           0.08176582840314668,   0.08705250242863487,
                           0.08738076279835351,   0.08760874665378719,
                           0.1005156532242719,    0.10351871552442181,
                           0.10508173280240851,   0.11211119812190257,
                           0.13238084511847256,   0.1436638054439646,
                           0.15034704019135367,   0.15319602262501197,
                           0.1667449807835988,    0.21083972490271388,
                           0.23187312768192178,   0.2902632051148279,
                           0.3061378682077774,    0.45};

std::string at_tau(double temperature) { return ", tau = " + short_text(temperature); }

// Cosines of the 64 candidates: the positive, the hardest negative, the others.
Vector cosines_of(double positive, double hardest) {
  Vector out = {positive, hardest};
  out.insert(out.end(), kNegatives.begin(), kNegatives.end());
  return out;
}
const Vector& easy() {
  static const Vector cosines = cosines_of(0.9, 0.5);
  return cosines;
}
const Vector& hard() {
  static const Vector cosines = cosines_of(0.5, 0.6);
  return cosines;
}

void high_temperature(Check& check) {
  Vector taus, gaps, residuals;
  const std::vector<std::pair<double, double>> quoted = {{10, 0.080}, {100, 0.078}, {1000, 0.077}, {1e4, 0.077}};
  for (const auto& [tau, residual] : quoted) {
    const Vector weights = weights_of(kTemperedScores, 1 / tau),
                 first = high_temperature_softmax(kTemperedScores, tau, 1),
                 second = high_temperature_softmax(kTemperedScores, tau, 2);
    taus.push_back(tau);
    gaps.push_back(largest_gap(weights, Vector(10, 0.1)));
    residuals.push_back(largest_gap(weights, first));
    check.near("tau times the largest distance from 1/N" + at_tau(tau), gaps.back() * tau, 0.17, 5e-3);
    check.near("tau^2 times what the first order leaves" + at_tau(tau), residuals.back() * tau * tau, residual, 6e-4);
    check.near("tau^2 times what the second order leaves" + at_tau(tau), largest_gap(weights, second) * tau * tau, 0,
               0.3 / tau);
  }
  check.near("power of tau in the distance from 1/N", power(taus, gaps), -1, 0.05);
  check.near("power of tau in what the first order leaves", power(taus, residuals), -2, 0.05);
  check.plot({"Distance of softmax(s / tau) from its expansions",
              "tau",
              "largest error",
              report::PlotScale::log,
              report::PlotScale::log,
              {{"1/N", taus, gaps}, {"first order", taus, residuals}}});
}

void low_temperature(Check& check) {
  Vector scores = kTemperedScores;
  const double top = *std::max_element(scores.begin(), scores.end());
  if (check.choose(false, true)) scores[1] = scores[2] = top + 1;  // two largest scores
  const Vector weights = weights_of(scores, 1000);
  check.near("largest weight at tau = 0.001", *std::max_element(weights.begin(), weights.end()), 1, 1e-12);
  Vector tied = kTemperedScores;
  tied[1] = tied[2] = top + 1;
  const Vector shared = weights_of(tied, 1000);
  check.near("two largest scores: the first's weight", shared[1], 0.5, 1e-12);
  check.near("two largest scores: the second's weight", shared[2], 0.5, 1e-12);
  const double gap = kTemperedScores[1] - kTemperedScores[2];
  for (double tau : {1.0, 0.1, 0.03, 0.01}) {
    const Vector sharp = weights_of(kTemperedScores, 1 / tau);
    check.at_most("1 - largest weight" + at_tau(tau), 1 - *std::max_element(sharp.begin(), sharp.end()),
                  9 * std::exp(-gap / tau), 1e-15);
  }
}

// |dL/dq| from the backward pass: unit keys whose components across q are mutually orthogonal, or random.
Table orthogonal_keys(const Vector& cosines) {
  Table keys(cosines.size(), cosines.size() + 1);
  for (std::size_t j = 0; j < cosines.size(); ++j) {
    keys(j, 0) = cosines[j];
    keys(j, j + 1) = std::sqrt(1 - cosines[j] * cosines[j]);
  }
  return keys;
}

Table random_keys(Random& random, const Vector& cosines, std::size_t d) {
  Table keys(cosines.size(), d, random.normals(cosines.size() * d));
  for (std::size_t j = 0; j < cosines.size(); ++j) {
    auto row = keys.row(j);
    row[0] = 0;
    const double stretch = std::sqrt(1 - cosines[j] * cosines[j]) / norm(row);
    for (double& x : row) x *= stretch;
    row[0] = cosines[j];
  }
  return keys;
}

double query_gradient(const Table& keys, double tau) {
  Vector query(keys.columns, 0.0);
  query[0] = 1;
  return norm(gradients_of(one_anchor(query, keys, tau)).query.values);
}

void gradient_grows_as_tau_falls(Check& check) {
  const Vector taus = {0.01, 0.02, 0.05, 0.07, 0.1, 0.2, 0.5, 1, 2, 5, 10, 50};
  const auto curve = [&](const Vector& cosines) {
    const Table keys = orthogonal_keys(cosines);
    Vector out;
    for (double tau : taus) out.push_back(query_gradient(keys, tau));
    return out;
  };
  const Vector of_easy = curve(easy()), of_hard = curve(hard());
  const Vector& chosen = check.choose(of_hard, of_easy);
  std::int64_t rises = 0;
  for (std::size_t x = 1; x < taus.size(); ++x) rises += chosen[x] > chosen[x - 1];
  check.never("steps to a higher tau that raise the gradient", rises);
  for (std::size_t x = 0; x < taus.size(); x += 3) {
    const double predicted = contrast_gradient_norm(check.choose(hard(), easy()), 0, taus[x]);
    check.near("|dL/dq|" + at_tau(taus[x]), chosen[x], predicted, 1e-9 * (1 + predicted));
  }
  check.near("easy positive: tau of the largest gradient",
             taus[static_cast<std::size_t>(std::max_element(of_easy.begin(), of_easy.end()) - of_easy.begin())], 0.2,
             1e-12);
  // The quoted gradients come from one draw of the directions in 32 dimensions.
  const Vector some = {0.01, 0.05, 0.1, 0.2, 1, 10};
  const std::vector<std::pair<const Vector*, Vector>> quoted = {{&easy(), {0, 0.009, 0.36, 2.22, 0.947, 0.099}},
                                                                {&hard(), {125, 21.7, 8.55, 4.19, 0.973, 0.0996}}};
  for (const auto& [cosines, values] : quoted)
    for (std::size_t x = 0; x < some.size(); ++x) {
      Mean draws, squares;
      for (std::int64_t t = 0; t < check.effort(100, 400); ++t) {
        const double length = query_gradient(random_keys(check.random(), *cosines, 32), some[x]);
        draws.add(length), squares.add(length * length);
      }
      const std::string at = std::string(cosines == &easy() ? "easy" : "hard") + " positive" + at_tau(some[x]);
      check.as_quoted(at + ", quoted from one draw", draws, values[x], 1, 0.006 * values[x] + 1e-3);
      const double predicted = contrast_gradient_norm(*cosines, 0, some[x]);
      check.near(at + ": mean square", squares.estimate(), predicted * predicted, 1e-9);
    }
  check.plot({"Length of dL/dq against the temperature",
              "tau",
              "|dL/dq|",
              report::PlotScale::log,
              report::PlotScale::log,
              {{"positive above every negative", taus, of_easy}, {"a negative above the positive", taus, of_hard}}});
}

// The hardest negative: its share among the negatives, and its push P / tau.
struct HardestNegative {
  double share = 0, push = 0, effective_negatives = 0;
};

HardestNegative hardest_negative(const Vector& cosines, double tau) {
  const Vector weights = weights_of(cosines, 1 / tau);
  const Vector others(cosines.begin() + 1, cosines.end());
  const Record negatives = record_of(others, 1 / tau);
  return {weights_of(others, 1 / tau)[0], weights[1] / tau, std::exp(entropy(negatives))};
}

void focus_on_hard_negatives(Check& check) {
  const Vector taus = {0.01, 0.05, 0.07, 0.1, 0.2, 0.5, 1};
  struct Quoted {
    const char* name;
    const Vector* cosines;
    Vector share, push, digit;  // digit: half a unit in the last place of the push
  };
  const std::vector<Quoted> quoted = {{"easy",
                                       &easy(),
                                       {.993, .704, .580, .399, .129, .041, .026},
                                       {4e-16, .0067, .047, .175, .330, .074, .025},
                                       {5e-17, 5e-5, 5e-4, 5e-4, 5e-4, 5e-4, 5e-4}},
                                      {"hard",
                                       &hard(),
                                       {1.000, .946, .852, .643, .196, .049, .028},
                                       {100, 16.8, 10.1, 5.2, .88, .094, .028},
                                       {0.5, 0.05, 0.05, 0.05, 5e-3, 5e-4, 5e-4}}};
  std::vector<report::PlotCurve> shares;
  for (const Quoted& q : quoted) {
    shares.push_back({std::string(q.name) + " positive", taus, {}});
    std::int64_t rises = 0;
    double previous = 2;
    Vector pushes;
    for (std::size_t x = 0; x < taus.size(); ++x) {
      const HardestNegative found = hardest_negative(*q.cosines, taus[x]);
      check.near(std::string(q.name) + ": share among the negatives" + at_tau(taus[x]), found.share, q.share[x], 6e-4);
      check.near(std::string(q.name) + ": push" + at_tau(taus[x]), found.push, q.push[x], 1.2 * q.digit[x]);
      pushes.push_back(found.push);
      rises += found.share > previous;
      previous = found.share;
      shares.back().y.push_back(found.share);
    }
    check.never(std::string(q.name) + ": steps to a higher tau that raise the share", rises);
    // The push itself has its maximum at an intermediate tau, unless the negative beats the positive.
    check.near(std::string(q.name) + ": tau of the largest push",
               taus[static_cast<std::size_t>(std::max_element(pushes.begin(), pushes.end()) - pushes.begin())],
               q.cosines == &easy() ? 0.2 : 0.01, 1e-12);
  }
  // In absolute terms it takes a negative at least as close as the positive.
  std::int64_t weaker = 0;
  const Vector& cosines = check.choose(hard(), easy());
  for (std::size_t x = 1; x < taus.size(); ++x)
    weaker += hardest_negative(cosines, taus[x - 1]).push < hardest_negative(cosines, taus[x]).push;
  check.never("steps to a lower tau that weaken the push on the hardest negative", weaker);
  check.near("effective negatives, tau = 0.01", hardest_negative(easy(), 0.01).effective_negatives, 1.04, 6e-3);
  check.near("effective negatives, tau = 50", hardest_negative(easy(), 50).effective_negatives, 63, 6e-3);
  check.plot({"Share of the hardest of 63 negatives in the push", "tau", "share", report::PlotScale::log,
              report::PlotScale::linear, std::move(shares)});
}

}  // namespace

std::vector<Claim> temperature_claims() {
  return {
      computed("002-4.4.18a", Verdict::holds, "For tau -> inf the weights become uniform, by the first order of exp",
               "p = (1 + (s - mean s) / tau) / N + O(tau^-2)", high_temperature),
      computed("002-4.4.18b", Verdict::holds_if, "For tau -> 0 the weights become one-hot",
               "the largest score is unique; 1 - max p <= (N - 1) e^{-gap / tau}", low_temperature),
      computed(
          "002-4.4.2-txt4", Verdict::holds_if, "A smaller tau gives larger gradients",
          "the positive is not already clearly on top: then the gradient has its maximum inside and dies at tau -> 0",
          gradient_grows_as_tau_falls),
      computed("002-4.4.2-txt5", Verdict::holds_if, "A low tau pushes hard negatives away with a larger gradient",
               "if they are at least as near as the positive; below it the push has its maximum inside and dies at tau "
               "-> 0. Their share among the negatives grows in any case",
               focus_on_hard_negatives),
  };
}

}  // namespace isentropic::ledger::contrast
