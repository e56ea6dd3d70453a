// What people read. Names of files and columns may hold any bytes; what a terminal would obey is shown instead of sent.
#pragma once

#include <string>
#include <string_view>

namespace isentropic::cli {

// Control characters other than line ends and tabs, and bytes that are not UTF-8, as \x1b.
std::string printable(std::string_view text);
// The same for a message of one line: line ends become \x0a.
std::string printable_line(std::string_view text);

// Text for standard output. A failure is noticed by standard_output_failed(), at the latest at the end of the program.
void print(std::string_view text);
bool standard_output_failed();

}  // namespace isentropic::cli
