// How sparse attention can be: what the closed forms predict, and what the kernels give.
//
// The first curves show S against gamma for three score maps; linear_curves.hpp and decay_curves.hpp have the others.
//
// Scores of n Gaussian keys, s ~ N(beta, gamma^2), are mapped by relu^2, by the identity and by exp; each measured
// point is the mean of S over several key sets. The formulas hold for n -> inf: exp departs from its formula before
// gamma = sqrt(log(n) / 2) and stays above n^-1/2; the other two follow theirs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/sparsity/decay_curves.hpp"
#include "experiments/sparsity/linear_curves.hpp"
#include "experiments/sparsity/points.hpp"

namespace isentropic::experiments::sparsity {

struct Options {
  std::int64_t keys = 20000;
  std::int64_t key_sets = 10;
  std::uint64_t seed = 1;
};

enum class WeightMap : std::uint8_t { relu_squared, identity, exp };

const char* name(WeightMap map);   // "relu_squared"
const char* label(WeightMap map);  // "relu²"
// As gamma -> inf, for every beta: 1/sqrt 6, sqrt(2/pi), 0.
double wide_limit(WeightMap map);
// The closed form.
double sparsity_of(WeightMap map, double beta, double gamma);

struct Curve {
  WeightMap map = WeightMap::exp;
  double beta = 0;
  Points measured = {};  // one per gamma of Results::gammas
};

struct Results {
  Options options;
  std::vector<double> gammas;
  std::vector<Curve> curves;
  std::vector<FeatureCurve> features;
  std::vector<TaylorCurve> taylor;  // over the same gammas
  std::vector<DecayCurve> decay;

  // Beyond this gamma, the formula of exp would need more keys than there are.
  double exp_breaks_at() const;  // sqrt(log(n) / 2)
};

inline constexpr double kWidestGamma = 5;
// The gammas at which the formulas are drawn: denser near 0, where they are steep.
std::vector<double> drawn_gammas();

using Progress = std::function<void(double)>;  // receives the fraction done
Results run_experiment(const Options& options, const Progress& progress = {});

}  // namespace isentropic::experiments::sparsity
