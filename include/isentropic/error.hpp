// The only exception the public API throws.
//
// It is thrown before any work starts, and its message names the argument, the value given and the value expected. Data
// never throws: an empty row, a NaN or a target entropy out of reach has a defined result.
#pragma once

#include <charconv>
#include <stdexcept>
#include <string>

namespace isentropic {

// The shortest text that reads back as the same number, in plain digits where people would write them: 0.07, 100000,
// 1e+39.
inline std::string to_text(double number) {
  char text[32];
  const double size = number < 0 ? -number : number;
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e15);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::general;
  return std::string(text, std::to_chars(text, text + sizeof(text), number, format).ptr);
}

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // "<argument> is <met>; expected <expected>"
  Error(const std::string& argument, const std::string& met, const std::string& expected)
      : std::runtime_error(argument + " is " + met + "; expected " + expected) {}
  Error(const std::string& argument, double met, const std::string& expected)
      : Error(argument, to_text(met), expected) {}
};

}  // namespace isentropic
