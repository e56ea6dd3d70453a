#include "lengths/directions.hpp"

#include <cmath>
#include <numbers>

namespace isentropic::lengths {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;

}  // namespace

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t mix(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t out = 0;
  for (const std::uint64_t number : numbers) out = mix((out + kGolden) ^ mix(number + kGolden));
  return out;
}

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

}  // namespace isentropic::lengths
