// Generates random directions from a counter, so that any vector can be regenerated on its own.
#include "experiments/lengths/directions.hpp"

#include <cmath>
#include <numbers>

#include "base/mix.hpp"

namespace isentropic::experiments::lengths {

void Directions::fill(std::int64_t row, double norm, std::span<float> vector) const {
  constexpr float kStep = 1.0f / (1 << 24);
  std::uint64_t counter = mix({stream_, static_cast<std::uint64_t>(row)});
  double squares = 0;
  for (std::size_t at = 0; at < vector.size(); at += 2) {
    const std::uint64_t bits = mix(counter += kGolden);
    const float u1 = (static_cast<float>(bits >> 40) + 1.0f) * kStep;  // in (0, 1]: its logarithm is finite
    const float u2 = static_cast<float>(bits & 0xFFFFFF) * kStep;
    const float radius = std::sqrt(-2.0f * std::log(u1));
    const float angle = 2.0f * std::numbers::pi_v<float> * u2;
    vector[at] = radius * std::cos(angle);
    squares += vector[at] * vector[at];
    if (at + 1 < vector.size()) {
      vector[at + 1] = radius * std::sin(angle);
      squares += vector[at + 1] * vector[at + 1];
    }
  }
  const float scale = squares > 0 ? static_cast<float>(norm / std::sqrt(squares)) : 0.0f;
  for (float& x : vector) x *= scale;
}

}  // namespace isentropic::experiments::lengths
