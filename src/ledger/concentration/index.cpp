// The sparsity index itself.
#include <cmath>

#include "experiments/sparsity/measure.hpp"
#include "experiments/tools/kernels.hpp"
#include "isentropic/information/distribution.hpp"
#include "ledger/concentration/subjects.hpp"

namespace isentropic::ledger::concentration {
namespace {

using experiments::sparsity::measure;

void index(Check& check) {
  const std::size_t n = 100;
  const std::vector<double> scores = check.random().normals(n);
  const double s = measure(scores, ScoreMap::softmax()).sparsity;
  check.near("S^2 n against exp(Renyi-2), n = 100", s * s * static_cast<double>(n),
             std::exp(renyi_entropy(weights_of(scores), 2)), 1e-10);
  Mean drawn;
  for (int t = 0; t < 200; ++t) drawn.add(measure(check.random().normals(n), ScoreMap::softmax()).sparsity);
  check.as_quoted("S of a Gaussian row, quoted", drawn, 0.66812939, 1);
  std::vector<double> one_hot(n, 0.0);
  one_hot[17] = 1;
  check.near("S of one key among 100", measure(one_hot, ScoreMap::identity()).sparsity, sparsity_floor(100), 1e-14);
  check.near("which is", sparsity_floor(100), 0.1, 1e-15);
  check.near("S of equal weights", measure(std::vector<double>(n, -3.0), ScoreMap::identity()).sparsity, 1, 1e-14);
  double least = 2, most = 0;
  for (std::int64_t t = 0; t < check.effort(300, 10000); ++t) {
    // Weights of either sign, from nearly equal to nearly one-hot.
    std::vector<double> weights = check.random().normals(n);
    const double power = check.random().uniform(0, 20);
    for (double& x : weights) x = std::copysign(std::pow(std::abs(x), power), x);
    const double signed_s = measure(weights, ScoreMap::identity()).sparsity;
    least = std::min(least, signed_s), most = std::max(most, signed_s);
  }
  check.at_least("least S of signed weights, n = 100", least, sparsity_floor(100), 1e-14);
  check.at_most("largest S of signed weights", most, 1, 1e-14);
}

// Sixteen keys share the mass, whatever n is. S falls without limit; the number of keys does not.
void window(Check& check) {
  const double width = 16;
  std::vector<double> lengths, measured, formula;
  for (const auto& [n, quoted] :
       {std::pair{std::size_t{64}, 0.5}, {std::size_t{1024}, 0.125}, {std::size_t{16384}, 0.031}}) {
    std::vector<double> scores(n, -1e9);
    std::fill(scores.begin(), scores.begin() + 16, 0.0);
    const experiments::sparsity::Concentration found = measure(scores, ScoreMap::softmax());
    const std::string at = " at n = " + std::to_string(n);
    check.near("keys that share the mass" + at, found.participation, check.choose(width, 1.0), 1e-9);
    check.near("S" + at, found.sparsity, std::sqrt(width / static_cast<double>(n)), 1e-12);
    check.near("S, rounded," + at, found.sparsity, quoted, 5e-4);
    lengths.push_back(static_cast<double>(n));
    measured.push_back(found.sparsity);
    formula.push_back(sparsity_floor(static_cast<std::int64_t>(n)));
  }
  check.plot({"S of a window of 16 keys",
              "n",
              "S",
              report::PlotScale::log,
              report::PlotScale::log,
              {{"16 keys share the mass", lengths, measured, report::CurveStyle::measured},
               {"one key has it: n^-1/2", lengths, formula, report::CurveStyle::bound}}});
}

}  // namespace

std::vector<Claim> index_claims() {
  return {
      computed("004-1", Verdict::holds, "S = mean|a| / rms(a) measures how sparse weights a are; smaller is sparser",
               "S lies in [n^-1/2, 1]; for weights that sum to one S^2 n = exp(Renyi-2 entropy)", index),
      computed("004-1b", Verdict::corrected, "S near 0 means that one key has nearly all the weight",
               "S is relative to n: n S^2 counts the keys that share the mass, and 16 of 16384 give S = .031", window)};
}

}  // namespace isentropic::ledger::concentration
