// A scan in at most 25 lines.
#pragma once

#include <string>

#include "scan/result.hpp"

namespace isentropic::scan {

std::string terminal_text(const Result& result);

}  // namespace isentropic::scan
