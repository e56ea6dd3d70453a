// A good 64-bit hash, for seeds and for random numbers derived from a counter.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "isentropic/host_device.hpp"

namespace isentropic {

inline constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;

// The finaliser of SplitMix64.
ISENTROPIC_HOST_DEVICE inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Hashes several numbers in order.
inline std::uint64_t mix(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t out = 0;
  for (const std::uint64_t number : numbers) out = mix((out + kGolden) ^ mix(number + kGolden));
  return out;
}

}  // namespace isentropic
