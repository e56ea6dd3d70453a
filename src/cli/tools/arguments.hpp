// Parses numbers in command-line arguments and reports what is wrong with them.
#pragma once

#include <cstdint>
#include <string>

#include "isentropic/error.hpp"

namespace isentropic::cli {

// Exit status 2 instead of 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Parses command-line numbers; the whole text must match. UsageError names the argument, the text and the range.
std::int64_t parse_integer(const std::string& argument, const std::string& text, std::int64_t low, std::int64_t high);
double parse_number(const std::string& argument, const std::string& text, double low, double high);
std::uint64_t parse_seed(const std::string& text);  // of --seed

}  // namespace isentropic::cli
