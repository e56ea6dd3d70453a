// The error message caused by a mistake.
#pragma once

#include <string>

#include "isentropic/error.hpp"

namespace support {

// The message of the Error that `action` throws, or "none".
template <class Action>
std::string complaint(const Action& action) {
  try {
    action();
  } catch (const isentropic::Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace support
