// Trains the Gaussian bottleneck by stochastic gradient descent.
#include "experiments/tools/gaussian_code.hpp"

#include <array>
#include <cmath>

#include "experiments/tools/adam.hpp"

namespace isentropic::experiments::tools {
namespace {

enum Parameter : std::size_t { kGain, kLogNoise, kReadout, kLogVariance, kLogPrior, kParameters };
using Parameters = std::array<double, kParameters>;

// The gradient of the loss on one batch.
Parameters gradient_of(const Parameters& p, const GaussianTraining& training, Random& random) {
  const double noise = std::exp(p[kLogNoise]), precision = std::exp(-p[kLogVariance]);
  const double prior_precision = std::exp(-2 * p[kLogPrior]), noise_share = noise * noise * prior_precision;
  const double rest = std::sqrt(1 - training.correlation * training.correlation);
  Parameters out{};
  for (std::int64_t t = 0; t < training.batch; ++t) {
    const double x = random.normal(), e = random.normal(), y = training.correlation * x + rest * random.normal();
    const double z = p[kGain] * x + noise * e, error = y - p[kReadout] * z;
    out[kReadout] -= z * error * precision;
    out[kLogVariance] += (1 - error * error * precision) / 2;
    if (training.sampling == Sampling::reparameterised) {
      const double by_sample = -p[kReadout] * error * precision;
      out[kGain] += by_sample * x;
      out[kLogNoise] += by_sample * noise * e;
    }
    const double signal = p[kGain] * x * x * prior_precision;
    out[kGain] += training.beta * signal;
    out[kLogNoise] += training.beta * (noise_share - 1);
    out[kLogPrior] += training.beta * (1 - noise_share - p[kGain] * signal);
  }
  for (double& g : out) g /= static_cast<double>(training.batch);
  return out;
}

}  // namespace

GaussianCode train_gaussian_code(const GaussianTraining& training, Random& random) {
  constexpr double kRate = .02;
  Parameters p = {.5, -.5, .5, 0, 0};
  Adam adam(kParameters);
  const std::int64_t slow_from = training.steps * 2 / 3;
  double gain = 0, log_noise = 0;
  for (std::int64_t t = 0; t < training.steps; ++t) {
    const Parameters gradient = gradient_of(p, training, random);
    adam.descend(p, gradient, t < slow_from ? kRate : kRate / 5);
    if (t >= slow_from) gain += p[kGain], log_noise += p[kLogNoise];
  }
  const auto averaged = static_cast<double>(training.steps - slow_from);
  gain /= averaged, log_noise /= averaged;
  const double signal_to_noise = gain * gain * std::exp(-2 * log_noise);
  const double squared = training.correlation * training.correlation;
  return {std::log1p(signal_to_noise) / 2, -std::log1p(-squared * signal_to_noise / (1 + signal_to_noise)) / 2};
}

}  // namespace isentropic::experiments::tools
