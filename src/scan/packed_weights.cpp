// Packs weights.
#include "scan/packed_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace isentropic::scan {
namespace {

constexpr std::uint32_t kNoWeight = 65535, kWholeWeight = 65534;

std::uint32_t sixteen_bits(double weight) {
  if (std::isnan(weight)) return kNoWeight;
  return static_cast<std::uint32_t>(std::lround(kWholeWeight * std::sqrt(std::clamp(weight, 0.0, 1.0))));
}

std::string base64(const std::string& bytes) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = (group << 8) | (j < count ? static_cast<std::uint8_t>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) out += j <= count ? kDigits[(group >> (18 - 6 * j)) & 63u] : '=';
  }
  return out;
}

}  // namespace

std::string packed(std::span<const double> weights) {
  std::string bytes;
  for (const double weight : weights) {
    const std::uint32_t q = sixteen_bits(weight);
    bytes += static_cast<char>(q & 255u);
    bytes += static_cast<char>(q >> 8);
  }
  return base64(bytes);
}

}  // namespace isentropic::scan
