// Counter-based randomness: a number depends only on (seed, batch, head, i, j), never on threads, blocks or shards.
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): ten rounds of
// multiply and xor over a 128-bit counter. Four neighbouring keys share one counter. Plain C++ and CUDA (host and
// device) include this header.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "isentropic/host_device.hpp"

namespace isentropic {

struct PhiloxCounter {
  std::uint32_t words[4];

  ISENTROPIC_HOST_DEVICE std::uint32_t& operator[](std::size_t word) { return words[word]; }
  ISENTROPIC_HOST_DEVICE std::uint32_t operator[](std::size_t word) const { return words[word]; }
  bool operator==(const PhiloxCounter&) const = default;
};

ISENTROPIC_HOST_DEVICE inline PhiloxCounter philox(PhiloxCounter counter, std::uint64_t seed) {
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// What the numbers are for: dropout and Gumbel noise must not use the same bits when they share a seed.
enum class RandomStream : std::uint32_t { dropout = 0, gumbel = 0x80000000 };

// The numbers of one row (batch, head, i), read at increasing j.
class CounterRandom {
 public:
  ISENTROPIC_HOST_DEVICE CounterRandom(RandomStream stream, std::uint64_t seed, std::int64_t batch, std::int64_t head,
                                       std::int64_t i)
      : seed_(seed),
        counter_{0, static_cast<std::uint32_t>(i),
                 static_cast<std::uint32_t>(head) | static_cast<std::uint32_t>(stream),
                 static_cast<std::uint32_t>(batch)} {}

  // Uniform in (0, 1), a multiple of 2^-32 plus 2^-33.
  ISENTROPIC_HOST_DEVICE double uniform(std::int64_t j) {
    if (j / 4 != group_) {
      group_ = j / 4;
      counter_[0] = static_cast<std::uint32_t>(group_);
      bits_ = philox(counter_, seed_);
    }
    return (static_cast<double>(bits_[static_cast<std::size_t>(j % 4)]) + 0.5) * 0x1p-32;
  }

  // Standard Gumbel: mean 0.5772..., variance pi^2 / 6.
  double gumbel(std::int64_t j) { return -std::log(-std::log(uniform(j))); }

 private:
  std::uint64_t seed_;
  PhiloxCounter counter_;
  std::int64_t group_ = -1;
  PhiloxCounter bits_{};
};

}  // namespace isentropic
