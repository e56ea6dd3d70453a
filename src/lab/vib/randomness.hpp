// Random numbers of a study as functions of a seed, their purpose and a count. An interrupted study can be resumed
// without the state of a generator.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "base/mix.hpp"

namespace isentropic::lab::vib {

enum class Purpose : std::uint8_t { problem, weights, order, training_noise, test_noise };

// Seeds the generators of all devices.
inline void seed_generators(std::uint64_t seed, Purpose purpose, std::uint64_t count = 0) {
  at::manual_seed(mix({seed, static_cast<std::uint64_t>(purpose), count}));
}

}  // namespace isentropic::lab::vib
