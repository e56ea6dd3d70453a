// Numbers for JSON with only their significant digits.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace isentropic::scan {

// The double nearest to the decimal number, so that it prints with that many digits; null if not finite.
inline nlohmann::ordered_json rounded(double x, int digits) {
  if (!std::isfinite(x)) return nullptr;
  const std::string text = fmt::format("{:.{}g}", x, digits);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  if (out == std::round(out) && std::abs(out) < 1e15) return static_cast<std::int64_t>(out);
  return out;
}

inline nlohmann::ordered_json all_rounded(const std::vector<double>& values, int digits) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const double x : values) out.push_back(rounded(x, digits));
  return out;
}

}  // namespace isentropic::scan
