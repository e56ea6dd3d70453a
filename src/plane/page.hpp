// Views of a record: a page whose points move with the epochs, a figure, a table for the terminal.
#pragma once

#include <string>

#include "plane/record.hpp"

namespace isentropic::plane {

std::string page(const Record& record);
// The paths of the layers under the first few estimators, means over seeds, as SVG.
std::string picture(const Record& record);
std::string terminal_text(const Record& record);

}  // namespace isentropic::plane
