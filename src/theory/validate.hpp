// What the closed forms demand of their numbers; Error names the argument.
#pragma once

#include <string>

#include "isentropic/error.hpp"

namespace isentropic {

// The negated comparisons also catch NaN.
inline void require(bool fine, const std::string& name, double value, const std::string& expected) {
  if (!fine) throw Error(name, value, expected);
}
inline void require_above(const std::string& name, double value, double low) {
  require(value > low, name, value, "a number above " + std::to_string(low));
}
inline void require_at_least(const std::string& name, double value, double low) {
  require(value >= low, name, value, "a number of at least " + std::to_string(low));
}
inline void require_below(const std::string& name, double value, double high) {
  require(value < high, name, value, "a number below " + std::to_string(high));
}
inline void require_positive(const std::string& name, double value) { require_above(name, value, 0); }

}  // namespace isentropic
