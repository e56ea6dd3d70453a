// 16-bit floating point: rounding to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace emulator {

// One sign bit, `kExponent` exponent bits and `kFraction` fraction bits.
template <int kExponent, int kFraction>
struct Float16 {
  std::uint16_t bits;

  Float16() = default;
  Float16(float x) : bits(rounded(x)) {}  // NOLINT: as CUDA's do
  operator float() const {                // NOLINT
    // Widened to a float32 with the same bits, then the exponent bias is corrected: exact, even for subnormals.
    const std::uint32_t size = (bits & 0x7fffu) << kDropped, sign = std::uint32_t{bits} >> 15 << 31;
    const bool is_finite = size >> 23 < static_cast<std::uint32_t>(kTop);
    const float value = is_finite ? std::bit_cast<float>(size) * kUnit : std::bit_cast<float>(size | 0x7f800000u);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }

 private:
  static constexpr int kBias = (1 << (kExponent - 1)) - 1, kTop = (1 << kExponent) - 1, kDropped = 23 - kFraction;
  static constexpr float kUnit = std::bit_cast<float>((127u + 127 - kBias) << 23);  // 2^(127 - bias)

  static std::uint16_t rounded(float x) {
    const auto all = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = all >> 31 << 15, size = all & 0x7fffffffu;
    if (size > 0x7f800000u) return 0x7fff;
    if (size == 0x7f800000u) return static_cast<std::uint16_t>(sign | kTop << kFraction);
    const int exponent = static_cast<int>(size >> 23) - 127 + kBias;
    std::uint32_t fraction = (size & 0x7fffffu) | (size >> 23 ? 0x800000u : 0);
    if (size >> 23 == 0) fraction <<= 1;
    // Subnormals keep a fixed last place.
    const int dropped = kDropped + (exponent < 1 ? 1 - exponent : 0);
    std::uint32_t kept = 0;
    if (dropped < 25) {
      const std::uint32_t rest = fraction & ((1u << dropped) - 1), half = 1u << (dropped - 1);
      kept = fraction >> dropped;
      if (rest > half || (rest == half && kept % 2)) ++kept;
    }
    // The leading bit increments the exponent, and so does a carry.
    const std::uint32_t result = exponent < 1 ? kept : (static_cast<std::uint32_t>(exponent - 1) << kFraction) + kept;
    const std::uint32_t infinity = static_cast<std::uint32_t>(kTop) << kFraction;
    return static_cast<std::uint16_t>(sign | (result < infinity ? result : infinity));
  }
};

template <class E>
struct Pair {
  E x, y;
};

}  // namespace emulator
