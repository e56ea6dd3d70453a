// Frequencies of rotary positions: plain, slowed, or slowed in part.
#include "model/rotary.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace isentropic::model {
namespace {

at::Tensor llama3_frequencies(const at::Tensor& plain, const Rotary& rotary) {
  const at::Tensor wavelength = 2 * std::numbers::pi / plain;
  const double length = static_cast<double>(rotary.original_length);
  const double longest = length / rotary.low_frequency, shortest = length / rotary.high_frequency;
  const at::Tensor slowed = plain / rotary.factor;
  const at::Tensor share =
      (length / wavelength - rotary.low_frequency) / (rotary.high_frequency - rotary.low_frequency);
  const at::Tensor mixed = (1 - share) * slowed + share * plain;
  return at::where(wavelength > longest, slowed, at::where(wavelength < shortest, plain, mixed));
}

// The (fractional) index of the pair that turns `turns` times in the original length.
double pair_with_turns(const Rotary& rotary, double turns) {
  const double length = static_cast<double>(rotary.original_length), r = static_cast<double>(rotary.dimensions);
  return r * std::log(length / (turns * 2 * std::numbers::pi)) / (2 * std::log(rotary.theta));
}

at::Tensor yarn_frequencies(const at::Tensor& plain, const Rotary& rotary) {
  double low = pair_with_turns(rotary, rotary.beta_fast), high = pair_with_turns(rotary, rotary.beta_slow);
  if (rotary.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rotary.dimensions - 1));
  if (low == high) high += 0.001;  // as in the reference: avoids division by zero
  const at::Tensor pairs = at::arange(rotary.dimensions / 2, plain.options());
  const at::Tensor slowed_share = ((pairs - low) / (high - low)).clamp(0, 1);
  return plain / rotary.factor * slowed_share + plain * (1 - slowed_share);
}

double amplitude(const Rotary& rotary) {
  if (rotary.scaling != Rotary::Scaling::yarn) return 1;
  if (rotary.attention_factor) return *rotary.attention_factor;
  return yarn_amplitude(rotary.factor);
}

}  // namespace

double yarn_amplitude(double factor, double m) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; }

at::Tensor inverse_frequencies(const Rotary& rotary) {
  const at::Tensor exponent = at::arange(0, rotary.dimensions, 2, at::kFloat) / static_cast<double>(rotary.dimensions);
  const at::Tensor plain = 1 / at::pow(rotary.theta, exponent);
  switch (rotary.scaling) {
    case Rotary::Scaling::none:
      return plain;
    case Rotary::Scaling::linear:
      return plain / rotary.factor;
    case Rotary::Scaling::llama3:
      return llama3_frequencies(plain, rotary);
    case Rotary::Scaling::yarn:
      return yarn_frequencies(plain, rotary);
  }
  return plain;
}

pytorch::Rotation rotation(const Rotary& rotary, const at::Tensor& positions, at::ScalarType type) {
  return pytorch::rotation(positions, inverse_frequencies(rotary), type, amplitude(rotary));
}

}  // namespace isentropic::model
