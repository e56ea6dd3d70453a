// Output for people. Names of files and columns may contain any bytes: control sequences are shown, not sent.
#pragma once

#include <string>
#include <string_view>

namespace isentropic::cli {

// Shows control characters, except newlines and tabs, and invalid UTF-8 bytes as \x1b.
std::string printable(std::string_view text);
// The same for one-line messages: newlines become \x0a.
std::string printable_line(std::string_view text);

// Writes to standard output. standard_output_failed() reports failures, at the latest at the end of the program.
void print(std::string_view text);
bool standard_output_failed();

}  // namespace isentropic::cli
