// Numbers on the command line, with their allowed range in the error message.
#include "cli/tools/arguments.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace isentropic::cli {
namespace {

template <class Number>
Number parse(const std::string& argument, const std::string& text, Number low, Number high, const char* kind) {
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size() || !(value >= low && value <= high))
    throw UsageError(argument, text.empty() ? "empty" : text, fmt::format("{} from {} to {}", kind, low, high));
  return value;
}

}  // namespace

std::int64_t parse_integer(const std::string& argument, const std::string& text, std::int64_t low, std::int64_t high) {
  return parse(argument, text, low, high, "an integer");
}

double parse_number(const std::string& argument, const std::string& text, double low, double high) {
  return parse(argument, text, low, high, "a number");
}

std::uint64_t parse_seed(const std::string& text) {
  return static_cast<std::uint64_t>(parse_integer("--seed", text, 0, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace isentropic::cli
