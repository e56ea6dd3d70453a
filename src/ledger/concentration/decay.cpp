// Weights that decay with distance and ignore the keys.
#include <fmt/format.h>

#include <cmath>

#include "experiments/sparsity/measure.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger::concentration {
namespace {

double decayed(double lambda, std::int64_t n) { return experiments::sparsity::measure_decay(lambda, n).sparsity; }

void closed_form_of_decay(Check& check) {
  double worst = 0;
  for (const double lambda : {0.1, 0.5, 0.9, 0.99, 0.999, 0.99999})
    for (const std::int64_t n : {1, 2, 10, 100, 1000, 10000})
      worst = std::max(worst, std::abs(decayed(lambda, n) - sparsity_of_decay(lambda, n)));
  check.near("largest error, lambda = .1 ... .99999, n = 1 ... 10^4", worst, 0, 1e-11);
  check.near("S at lambda = 1, n = 10", decayed(1, 10), sparsity_of_decay(1, 10), 1e-14);
}

void bound(Check& check) {
  std::int64_t above = 0, not_below = 0;
  for (const double lambda : {0.1, 0.5, 0.9, 0.99, 0.999, 0.99999})
    for (const std::int64_t n : {1, 2, 10, 100, 1000, 10000}) {
      const double s = decayed(lambda, n), most = decay_sparsity_bound(lambda, n);
      above += s > most * (1 + 1e-12);
      // Only while 1 - lambda^n still differs from 1 by more than rounding.
      if (static_cast<double>(n) * std::log(lambda) > std::log(1e-10)) not_below += s >= most;
    }
  check.never("S above the bound", above);
  check.never("S not strictly below it, lambda^n > 1e-10", not_below);
  check.near("S relative to the bound, lambda = .9, n = 10", decayed(0.9, 10) / decay_sparsity_bound(0.9, 10),
             std::sqrt(1 - std::pow(0.9, 10)), 1e-12);
}

void long_contexts(Check& check) {
  const std::int64_t n = 100000;
  const double lambda = check.choose(0.99, 1 - 1 / static_cast<double>(n));
  check.at_most("S at n = 10^5", decayed(lambda, n), 0.05);
  for (const auto& [c, quoted] : {std::pair{0.1, 0.99958}, {1.0, 0.96137}, {5.0, 0.62821}, {50.0, 0.2}}) {
    const double found = decayed(1 - c / static_cast<double>(n), n);
    check.near(fmt::format("S with 1 - lambda = {}/n", c), found, slow_decay_sparsity(c), 1e-4);
    check.near(fmt::format("its limit, c = {}", c), slow_decay_sparsity(c), quoted, 6e-6);
  }
  std::vector<double> lengths, fast, slow, limit;
  for (double x = 4; x < 1e5; x *= 2) {
    const auto keys = static_cast<std::int64_t>(x);
    lengths.push_back(x);
    fast.push_back(decayed(0.99, keys));
    slow.push_back(decayed(1 - 1 / x, keys));
    limit.push_back(slow_decay_sparsity(1));
  }
  check.plot({"S of decaying weights",
              "n",
              "S",
              report::PlotScale::log,
              report::PlotScale::log,
              {{"lambda = .99", lengths, fast, report::CurveStyle::measured},
               {"lambda = 1 - 1/n", lengths, slow, report::CurveStyle::measured},
               {"sqrt(2 tanh(1/2))", lengths, limit, report::CurveStyle::bound}}});
}

double entropy_of_decay(double lambda, std::int64_t n) {
  const Table query(1, 1, 1.0), keys(static_cast<std::size_t>(n), 1, 0.0);
  AttentionProblem options;
  options.mask = Mask::causal(Align::end);
  options.map = ScoreMap::decay(lambda);
  return entropy(weights_of(query, keys, options).values);
}

void relative_to_n(Check& check) {
  for (const double lambda : {0.5, 0.9, 0.99})
    check.near(fmt::format("S sqrt n at lambda = {}, n = 10^5", lambda), decayed(lambda, 100000) * std::sqrt(1e5),
               decay_sparsity_rate(lambda), 1e-9);
  for (const std::int64_t n : {64, 4096})
    check.near(fmt::format("entropy at lambda = 1/2, n = {}", n), entropy_of_decay(0.5, n), 2 * std::numbers::ln2,
               1e-10);
  check.near("which is", entropy_of_decay(0.5, 64), 1.3863, 5e-5);
  // For a geometric law: H = -log(1 - lambda) - lambda log(lambda) / (1 - lambda).
  for (const double lambda : {0.9, 0.99})
    check.near(fmt::format("entropy at lambda = {}, n = 4096", lambda), entropy_of_decay(lambda, 4096),
               -std::log1p(-lambda) - lambda * std::log(lambda) / (1 - lambda), 1e-10);
}

// Two contexts of the same length.
void blind_to_content(Check& check) {
  const std::size_t n = 32, d = 4;
  const auto weights = [&](const ScoreMap& map) {
    const Table query(n, d, check.random().normals(n * d)), keys(n, d, check.random().normals(n * d));
    AttentionProblem options;
    options.mask = Mask::causal();
    options.map = map;
    return weights_of(query, keys, options).values;
  };
  const auto distance = [&](const ScoreMap& map) {
    const std::vector<double> one = weights(map), other = weights(map);
    double out = 0;
    for (std::size_t i = 0; i < one.size(); ++i) out = std::max(out, std::abs(one[i] - other[i]));
    return out;
  };
  check.near("largest difference of weights between two contexts: decay", distance(ScoreMap::decay(0.9)), 0, 0);
  check.at_least("the same for softmax", distance(ScoreMap::softmax()), 0.1);
}

}  // namespace

std::vector<Claim> decay_claims() {
  return {
      computed("004-10,11", Verdict::holds,
               "Weights lambda^(n-j): S^2 = (1 - lambda^n)(1 + lambda) / (n (1 - lambda)(1 + lambda^n))",
               "for lambda < 1; at lambda = 1, where this is 0/0, S = 1", closed_form_of_decay),
      computed("004-11b", Verdict::holds, "Leaving 1 - lambda^n out gives a strict upper bound of S",
               "lambda < 1; equal in floating point once lambda^n vanishes", bound),
      computed("004-11c", Verdict::holds_if, "Decaying weights become sparse as n grows: S -> 0 for lambda < 1",
               "if n (1 - lambda) -> inf; with 1 - lambda = c/n S tends to sqrt((2/c) tanh(c/2))", long_contexts),
      computed("004-11d", Verdict::holds, "Sparsity is no difficulty for models with decay",
               "relative to n alone: S sqrt n tends to sqrt((1 + lambda)/(1 - lambda)) and the entropy to a constant",
               relative_to_n),
      computed("004-12", Verdict::holds, "Weights that only decay cannot adapt to the content", "", blind_to_content)};
}

}  // namespace isentropic::ledger::concentration
