// Random numbers of a run as functions of its seed and step, so that a run can be resumed at any step.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cstdint>

namespace isentropic::lab {

// Streams of different seeds are further apart than their numbers and counters can reach.
inline std::uint64_t stream(std::uint64_t seed, std::uint64_t number) { return seed * 0x9E3779B97F4A7C15 + number; }

// Standard normal float32 values of a step, drawn on the CPU whatever the device.
inline at::Tensor normals(std::uint64_t stream_seed, std::int64_t step, at::IntArrayRef sizes) {
  // Neighbouring seeds of a Mersenne Twister need mixing; streams of one seed stay apart by their high bits.
  at::Generator generator =
      at::detail::createCPUGenerator(stream(stream_seed, static_cast<std::uint64_t>(step) * 0xD1B54A32D192ED03));
  return at::randn(sizes, generator, at::kFloat);
}

}  // namespace isentropic::lab
