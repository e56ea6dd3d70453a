// e^x for x <= 0 (slightly above 0 is fine), branch-free so that compilers vectorise loops over it.
//
// float: x = n log 2 + r with |r| <= log(2)/2, e^x = 2^n sum_{k<=7} r^k / k!. The series stops at r^8/8! < 6e-9
// relative; rounding dominates: at most 2 units in the last place. At or below kExpFloor the result is exactly 0.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace isentropic {

// Scores this far below the maximum have weight exactly 0; clamping to the floor keeps inf * 0 out of
// (s - m) e^{s - m}.
template <class T>
inline constexpr T kExpFloor = T(-87.0);
template <>
inline constexpr double kExpFloor<double> = -745.2;

inline float exp_not_positive(float x) {
  constexpr float kLog2e = 1.44269504f, kLog2High = 0.693359375f, kLog2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer kept in the low bits
  const float shifted = x * kLog2e + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLog2High) - n * kLog2Low;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // Unsigned because the difference wraps far below the floor, where the result is not used.
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRound) + 127u;
  const float power = std::bit_cast<float>(exponent << 23);
  return x <= kExpFloor<float> ? 0.0f : p * power;
}

inline double exp_not_positive(double x) { return x <= kExpFloor<double> ? 0.0 : std::exp(x); }

}  // namespace isentropic
