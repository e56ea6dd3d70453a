// Lines of a table in a text file, and what their cells hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isentropic::io {

// The separator of blank-separated columns: any run of spaces and tabs.
constexpr char kBlanks = ' ';

// Without spaces, tabs and Windows line ends around it.
std::string_view trimmed(std::string_view text);

// Nothing but blanks, or a comment: # or % first.
bool is_blank_or_comment(std::string_view line);

// A comma if the line has one, else a tab, else a semicolon, else blanks.
char separator_of(std::string_view line);

// The cells of a line, trimmed. A cell that starts with a quote ends at the next one, which may be followed by blanks
// only; it loses both and may hold the separator, and quotes written twice. False where a quote is not closed. `out`
// keeps its memory from line to line; its views end with the line.
bool split(std::string_view line, char separator, std::vector<std::string_view>* out);

// The whole cell as a number; infinite or not a number where it says so, huge numbers infinite, tiny ones 0.
std::optional<double> number_in(std::string_view cell);
// True or False, in any case.
std::optional<bool> truth_in(std::string_view cell);
// Empty, or one of the words that stand for nothing: NaN, NA, N/A, <NA>, null, in any case.
bool is_missing(std::string_view cell);

// A cell as an error may show it: short, and without what a terminal would obey.
std::string shown(std::string_view cell);

}  // namespace isentropic::io
