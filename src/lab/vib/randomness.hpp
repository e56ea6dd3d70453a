// Random numbers of a study: functions of a seed, of what they are for, and of a count. An interrupted study needs no
// state of a generator to go on.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "base/mix.hpp"

namespace isentropic::lab::vib {

enum class Purpose : std::uint8_t { problem, weights, order, training_noise, test_noise };

// Those of all devices.
inline void seed_generators(std::uint64_t seed, Purpose purpose, std::uint64_t count = 0) {
  at::manual_seed(mix({seed, static_cast<std::uint64_t>(purpose), count}));
}

}  // namespace isentropic::lab::vib
