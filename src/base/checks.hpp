// Argument checks: each throws Error with the argument's name, its value and what was expected.
//
// NaN fails every check. So does infinity, except in require(), which functions that accept infinity use with their own
// condition.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "isentropic/error.hpp"

namespace isentropic {

inline void require(bool condition, const std::string& argument, double value, const std::string& expected) {
  if (!condition) throw Error(argument, value, expected);
}
inline void require(bool condition, const std::string& argument, const std::string& value,
                    const std::string& expected) {
  if (!condition) throw Error(argument, value, expected);
}

// ---- One number ----

inline void require_finite(const std::string& argument, double value) {
  require(std::isfinite(value), argument, value, "a finite number");
}
inline void require_above(const std::string& argument, double value, double bound) {
  if (!(std::isfinite(value) && value > bound)) throw Error(argument, value, "a finite number > " + to_text(bound));
}
inline void require_at_least(const std::string& argument, double value, double bound) {
  if (!(std::isfinite(value) && value >= bound)) throw Error(argument, value, "a finite number >= " + to_text(bound));
}
inline void require_below(const std::string& argument, double value, double bound) {
  if (!(std::isfinite(value) && value < bound)) throw Error(argument, value, "a finite number < " + to_text(bound));
}
inline void require_positive(const std::string& argument, double value) { require_above(argument, value, 0); }
inline void require_non_negative(const std::string& argument, double value) { require_at_least(argument, value, 0); }

// ---- One integer ----

template <std::integral T>
void require_at_least(const std::string& argument, T value, std::type_identity_t<T> bound) {
  if (value < bound) throw Error(argument, std::to_string(value), "at least " + std::to_string(bound));
}
template <std::integral T>
void require_below(const std::string& argument, T value, std::type_identity_t<T> bound) {
  if (value >= bound) throw Error(argument, std::to_string(value), "less than " + std::to_string(bound));
}

// ---- Many numbers ----

// `why` explains the expected length ("one for each key").
inline void require_length(const std::string& argument, std::size_t length, std::size_t expected,
                           const std::string& why) {
  if (length == expected) return;
  throw Error(argument, "of length " + std::to_string(length), "length " + std::to_string(expected) + ", " + why);
}

// At least one number, all finite.
inline void require_finite(const std::string& argument, std::span<const double> values) {
  require(!values.empty(), argument, "empty", "at least one number");
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) require_finite(argument + "[" + std::to_string(i) + "]", values[i]);
}

// At least one probability, none negative or infinite, their sum 1 within 1e-9.
inline void require_distribution(const std::string& argument, std::span<const double> p) {
  require(!p.empty(), argument, "empty", "at least one probability");
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!(p[i] >= 0) || std::isinf(p[i])) throw Error(argument + "[" + std::to_string(i) + "]", p[i], "a probability");
    sum += p[i];
  }
  if (std::abs(sum - 1) > 1e-9) throw Error("the sum of " + argument, sum, "1 within 1e-9");
}

}  // namespace isentropic
