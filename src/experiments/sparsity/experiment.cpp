// Draws keys for every gamma and beta, measures the sparsity index of the three maps, and gathers the other curves.
#include "experiments/sparsity/experiment.hpp"

#include <cmath>

#include "base/random.hpp"
#include "experiments/sparsity/measure.hpp"
#include "isentropic/theory/sparsity.hpp"

namespace isentropic::experiments::sparsity {
namespace {

constexpr double kGammas[] = {0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5};
constexpr double kReluSquaredBetas[] = {-2, -1, -0.5, 0, 0.5, 1, 2};
constexpr double kIdentityBetas[] = {0, 0.5, 1, 2, 4};  // even in beta

ScoreMap score_map(WeightMap map) {
  switch (map) {
    case WeightMap::relu_squared:
      return ScoreMap::relu_squared();
    case WeightMap::identity:
      return ScoreMap::identity();
    case WeightMap::exp:
      break;
  }
  return ScoreMap::softmax();
}

std::vector<Curve> curves() {
  std::vector<Curve> out;
  for (const double beta : kReluSquaredBetas) out.push_back({WeightMap::relu_squared, beta});
  for (const double beta : kIdentityBetas) out.push_back({WeightMap::identity, beta});
  out.push_back({WeightMap::exp, 0});
  return out;
}

}  // namespace

const char* name(WeightMap map) {
  switch (map) {
    case WeightMap::relu_squared:
      return "relu_squared";
    case WeightMap::identity:
      return "identity";
    case WeightMap::exp:
      break;
  }
  return "exp";
}

const char* label(WeightMap map) { return map == WeightMap::relu_squared ? "relu²" : name(map); }

double wide_limit(WeightMap map) {
  switch (map) {
    case WeightMap::relu_squared:
      return theory::kReluSquaredSparsityAtZero;
    case WeightMap::identity:
      return theory::kIdentitySparsityFloor;
    case WeightMap::exp:
      break;
  }
  return 0;
}

double sparsity_of(WeightMap map, double beta, double gamma) {
  switch (map) {
    case WeightMap::relu_squared:
      return theory::sparsity_of_relu_squared({beta, gamma});
    case WeightMap::identity:
      return theory::sparsity_of_identity({beta, gamma});
    case WeightMap::exp:
      break;
  }
  return theory::sparsity_of_exp({beta, gamma});
}

double Results::exp_breaks_at() const { return std::sqrt(std::log(static_cast<double>(options.keys)) / 2); }

std::vector<double> drawn_gammas() {
  std::vector<double> out;
  for (int i = 1; i < 50; ++i) out.push_back(0.01 * i);
  for (int i = 10; i <= 100; ++i) out.push_back(kWidestGamma * i / 100);
  return out;
}

Results run_experiment(const Options& options, const Progress& progress) {
  Results out{options, {std::begin(kGammas), std::end(kGammas)}, curves(), {}, {}, {}};
  Random random(options.seed);
  const std::size_t parts = out.curves.size() + 2;
  std::size_t done = 0;
  const auto advance = [&] {
    if (progress) progress(static_cast<double>(++done) / static_cast<double>(parts));
  };
  for (Curve& curve : out.curves) {
    for (const double gamma : out.gammas) {
      std::vector<Concentration> found;
      for (std::int64_t set = 0; set < options.key_sets; ++set) {
        std::vector<double> scores = random.normals(static_cast<std::size_t>(options.keys), gamma);
        for (double& s : scores) s += curve.beta;
        found.push_back(measure(scores, score_map(curve.map)));
      }
      curve.measured.add(found);
    }
    advance();
  }
  out.features = feature_curves(options.keys, options.key_sets, random);
  advance();
  out.taylor = taylor_curves(out.gammas, options.keys, options.key_sets, random);
  out.decay = decay_curves();
  advance();
  return out;
}

}  // namespace isentropic::experiments::sparsity
