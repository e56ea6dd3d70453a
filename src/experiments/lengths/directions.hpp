// Random directions as a function of a counter: vector `row` of a stream depends only on (seed, stream, row), and not
// on threads, blocks or the order of drawing.
//
//   x_t = mix(x_0 + t g)                              SplitMix64; x_0 from seed, stream and row, g the golden ratio
//   (a, b) = sqrt(-2 log u1) (cos, sin)(2 pi u2)      Box-Muller: u1, u2 from the high and the low bits of x_t
//   v = norm (a, b, ...) / |(a, b, ...)|              uniform on the sphere
#pragma once

#include <cstdint>
#include <span>

namespace isentropic::experiments::lengths {

class Directions {
 public:
  explicit Directions(std::uint64_t stream) : stream_(stream) {}

  // Vector `row`, of length `norm`.
  void fill(std::int64_t row, double norm, std::span<float> vector) const;

 private:
  std::uint64_t stream_;
};

}  // namespace isentropic::experiments::lengths
