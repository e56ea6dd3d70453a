// What the page's scripts read: a result with its numbers rounded and most of its drawings left out.
#pragma once

#include <string>

#include "scan/result.hpp"

namespace isentropic::scan {

// JSON; scan/web/scan.js reads it.
std::string page_data(const Result& result);

}  // namespace isentropic::scan
