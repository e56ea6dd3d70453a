// The vocabulary of problems: scale laws and score maps by name, with their parameters.
//
// Scale::laws() and ScoreMap::maps() list them. Everything that reads or writes problems (JSON, the program, Python)
// uses these lists, so that a new law or map is known everywhere once it is in its table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace isentropic {

// The value of a parameter. A list has one number per head.
using Option = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;

// Parameters by name.
using Options = std::vector<std::pair<std::string, Option>>;

struct Parameter {
  // per_head: a number, or one per head.  tensor: rows of numbers, given as a view.
  enum class Type : std::uint8_t { boolean, integer, number, per_head, choice, tensor };

  std::string name;
  Type type;
  std::optional<Option> usual = {};          // the default; none: the parameter is required
  bool learnable = false;                    // gradients exist
  std::vector<std::string> choices = {};     // for Type::choice
  double least = -1.7976931348623157e308;    // smallest allowed number
  std::string expected = "a finite number";  // what an Error says was expected of a number below it
};

// "boolean", "integer", "number", "per_head", "choice", "tensor".
inline const char* name(Parameter::Type type) {
  constexpr const char* kNames[] = {"boolean", "integer", "number", "per_head", "choice", "tensor"};
  return kNames[static_cast<int>(type)];
}

}  // namespace isentropic
