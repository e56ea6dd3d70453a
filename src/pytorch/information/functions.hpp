// The table of functions that Python calls by name: the information library's estimators, bounds and closed forms.
//
// An entry is a name and a C++ function; its parameter types determine what Python has to pass. Argument names,
// defaults and formulas are written once, in python/isentropic/information.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "pytorch/information/arguments.hpp"
#include "pytorch/information/results.hpp"

namespace isentropic::pytorch::bindings {

struct Function {
  std::string name;
  std::string kinds;  // of Python's arguments, in order: "table table number"
  std::function<void(Arguments&, Results&)> call;
};
using Functions = std::vector<Function>;

template <class Returned, class... Parameters>
Function function(std::string name, Returned (*f)(Parameters...)) {
  std::string kinds;
  for (const std::string& kind : Words{Taken<std::remove_cvref_t<Parameters>>::kinds...})
    if (!kind.empty()) kinds += (kinds.empty() ? "" : " ") + kind;
  return {std::move(name), std::move(kinds), [f](Arguments& arguments, Results& out) {
            // Braces guarantee evaluation from left to right.
            std::tuple<decltype(Taken<std::remove_cvref_t<Parameters>>::take(arguments))...> taken{
                Taken<std::remove_cvref_t<Parameters>>::take(arguments)...};
            give(out, std::apply(f, taken));
          }};
}

// Grouped by subject, each group in the file of that name.
Functions attention_functions();
Functions bottleneck_functions();
Functions bound_functions();
Functions distribution_functions();
Functions estimator_functions();
Functions noise_functions();
Functions score_functions();
Functions weight_functions();

}  // namespace isentropic::pytorch::bindings
