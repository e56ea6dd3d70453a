// Random numbers of a run as functions of its seed and of a step, so that a run can go on at any step.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cstdint>

namespace isentropic::lab {

// Seeds of the streams of one run differ by more than their counters can reach.
inline std::uint64_t stream(std::uint64_t seed, std::uint64_t number) { return seed * 0x9E3779B97F4A7C15 + number; }

// Standard normal float32 numbers of a step, drawn on the CPU whatever the device.
inline at::Tensor normals(std::uint64_t stream_seed, std::int64_t step, at::IntArrayRef sizes) {
  // Neighbouring seeds of a Mersenne twister need mixing; streams of one seed stay apart by their high bits.
  at::Generator generator =
      at::detail::createCPUGenerator(stream(stream_seed, static_cast<std::uint64_t>(step) * 0xD1B54A32D192ED03));
  return at::randn(sizes, generator, at::kFloat);
}

}  // namespace isentropic::lab
