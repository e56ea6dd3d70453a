// The one exception of the public boundary.
//
// It is thrown before any work starts, and its message names the argument, the value met and the value
// expected. Data never throws: an empty row, a NaN or a wanted entropy out of reach has a defined result.
#pragma once

#include <stdexcept>
#include <string>

namespace isentropic {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // "<argument> is <met>; expected <expected>"
  Error(const std::string& argument, const std::string& met, const std::string& expected)
      : std::runtime_error(argument + " is " + met + "; expected " + expected) {}
};

}  // namespace isentropic
