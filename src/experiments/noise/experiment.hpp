// Noise and attacks on attention scores, measured and predicted: the experiment behind `isentropic noise`.
//
// Noise. A row of n keys has scores 0, 1, 0, 1, ... and values equal to them; noise of one family is added to the
// scores, the attention kernel runs, and the change x = o~ - o of the output is compared with the closed forms of
// isentropic/theory/noise.hpp: its mean (bias, O(1/n)), its rms (O(n^-1/2)), and the exponent of n in its median.
//
//   gaussian   N(0, sigma^2)                       strength sigma
//   uniform    on [-a, a]                          strength a
//   laplace    of scale b                          strength b; E e^eps is infinite for b >= 1, E e^{2 eps} for b >= 1/2
//   gumbel     standard Gumbel / tau               strength tau; likewise for tau <= 1 and tau <= 2
//   groups     N(0, 1), shared by g neighbours     strength g, an integer; the scores alternate group by group
//   values     c v_i + N(0, 1)                     strength c; it does not average out, and the bias does not vanish
//
// Attacks. Rows of 10 keys with scores and values N(0, 1): how much of the best possible gain the first-order
// directions reach within budgets of several sizes and norms (isentropic/theory/attack.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/noise/attack_trials.hpp"
#include "isentropic/theory/noise.hpp"

namespace isentropic::experiments::noise {

enum class Family : std::uint8_t { gaussian, uniform, laplace, gumbel, groups, values };
inline constexpr std::array<Family, 6> kFamilies = {Family::gaussian, Family::uniform, Family::laplace,
                                                    Family::gumbel,   Family::groups,  Family::values};
const char* name(Family family);
// Throws Error, listing the names, if the name is unknown.
Family family_named(const std::string& name);
double standard_strength(Family family);

// One kind of noise at one strength.
struct Case {
  Family family = Family::gaussian;
  double strength = 1;

  theory::NoiseLaw law() const;  // of the independent part
  std::string label() const;     // "Laplace, b = 0.3"
};

// Throws Error if the experiment has nothing to predict: a strength outside its family's range, or E e^eps infinite.
void require_meaning(const Case& noise);
// Empty, or one line explaining why the rate will be slower than n^-1/2.
std::string caution(const Case& noise);

struct Options {
  std::vector<Case> cases;  // empty: every family at its standard strength
  std::int64_t draws = 2000;
  std::int64_t attack_trials = 300;
  std::uint64_t seed = 1;
};

struct Point {
  std::size_t n = 0;
  Estimate bias, rms, median;
  double predicted_bias = 0, predicted_rms = 0;  // infinite if E e^{2 eps} is: no prediction
};

struct Curve {
  Case noise;
  std::vector<Point> points;
  Estimate power;                         // exponent of n in the median
  std::optional<double> predicted_power;  // none if nothing averages out
};

struct AttackRow {
  theory::Budget budget = theory::Budget::infinity;
  double eps = 0;
  double best_gain = 0;             // mean of the exact optimum
  std::array<Mean, 3> shares = {};  // fraction reached by the directions sign, gradient and single coordinate
  double worst_share = 1;           // of the direction that is optimal for small eps
};

struct Results {
  Options options;
  std::vector<Curve> curves;
  std::vector<AttackRow> attacks;
};

const std::vector<std::size_t>& experiment_lengths();

// Called with the fraction of the work done, in [0, 1].
using Progress = std::function<void(double)>;
Results run_experiment(const Options& options, const Progress& progress = {});

Curve measure_noise(const Case& noise, const Options& options, const Progress& progress = {});
std::vector<AttackRow> measure_attacks(const Options& options);

}  // namespace isentropic::experiments::noise
