// Matches options with the parameters of a law or map.
#include "attention/problem/options.hpp"

#include <algorithm>

#include "base/one_line.hpp"

namespace isentropic {
namespace {

bool fits(const Parameter& parameter, const Option& option) {
  const bool integer = std::holds_alternative<std::int64_t>(option);
  const bool number = integer || std::holds_alternative<double>(option);
  switch (parameter.type) {
    case Parameter::Type::boolean:
      return std::holds_alternative<bool>(option);
    case Parameter::Type::integer:
      return integer;
    case Parameter::Type::number:
      return number;
    case Parameter::Type::per_head:
      return number || std::holds_alternative<std::vector<double>>(option);
    case Parameter::Type::choice:
      return std::holds_alternative<std::string>(option);
    case Parameter::Type::tensor:
      return false;
  }
  return false;
}

const char* kind_of(Parameter::Type type) {
  switch (type) {
    case Parameter::Type::boolean:
      return "true or false";
    case Parameter::Type::integer:
      return "an integer";
    case Parameter::Type::number:
      return "a number";
    case Parameter::Type::per_head:
      return "a number, or one for each head";
    case Parameter::Type::choice:
      return "a name";
    case Parameter::Type::tensor:
      break;
  }
  return "a tensor";
}

void check(const std::string& full_name, const Parameter& parameter, const Option& option) {
  if (!fits(parameter, option)) throw Error(full_name, "of another type", kind_of(parameter.type));
  if (parameter.type != Parameter::Type::choice) return;
  const std::string& chosen = std::get<std::string>(option);
  if (std::ranges::find(parameter.choices, chosen) == parameter.choices.end())
    throw Error(full_name, in_quotes(chosen), list_of(parameter.choices));
}

}  // namespace

std::vector<Option> complete_options(const std::string& of, const std::vector<Parameter>& parameters,
                                     const Options& options) {
  for (const auto& [name, option] : options)
    if (std::ranges::find(parameters, name, &Parameter::name) == parameters.end()) {
      std::vector<std::string> known;
      for (const Parameter& parameter : parameters) known.push_back(parameter.name);
      throw Error("parameter of the " + of, in_quotes(name), known.empty() ? "none" : list_of(known));
    }
  std::vector<Option> out;
  for (const Parameter& parameter : parameters) {
    const auto given = std::ranges::find(options, parameter.name, &Options::value_type::first);
    if (given == options.end() && !parameter.usual)
      throw Error("parameter " + parameter.name + " of the " + of, "absent", kind_of(parameter.type));
    out.push_back(given == options.end() ? *parameter.usual : given->second);
    check(parameter.name + " of the " + of, parameter, out.back());
  }
  return out;
}

double as_number(const Option& option) {
  if (const auto* integer = std::get_if<std::int64_t>(&option)) return static_cast<double>(*integer);
  return std::get<double>(option);
}

PerHead as_per_head(const Option& option) {
  if (const auto* list = std::get_if<std::vector<double>>(&option)) return *list;
  return as_number(option);
}

Option as_option(const PerHead& values) {
  if (values.values().size() == 1) return values[0];
  return values.values();
}

}  // namespace isentropic
