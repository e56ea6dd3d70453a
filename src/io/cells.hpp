// Lines of a text table, and the contents of their cells.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isentropic::io {

// The separator of whitespace-separated columns: any run of spaces and tabs.
constexpr char kBlanks = ' ';

// Strips spaces, tabs and Windows line ends.
std::string_view trimmed(std::string_view text);

// Whether a line is only whitespace, or a comment that starts with # or %.
bool is_blank_or_comment(std::string_view line);

// A comma if the line contains one, else a tab, else a semicolon, else whitespace.
char separator_of(std::string_view line);

// Splits a line into trimmed cells. A cell that starts with a quote ends at the closing one, which only whitespace may
// follow; the quotes are removed, and the cell may contain the separator and doubled quotes. Returns false for an
// unclosed quote. `out` keeps its memory from line to line; its views are valid as long as the line.
bool split(std::string_view line, char separator, std::vector<std::string_view>* out);

// The whole cell as a number; inf and nan are accepted, huge numbers become infinite, tiny ones 0.
std::optional<double> number_in(std::string_view cell);
// True or False, case-insensitive.
std::optional<bool> truth_in(std::string_view cell);
// Empty, or one of the words for a missing value: NaN, NA, N/A, <NA>, null, case-insensitive.
bool is_missing(std::string_view cell);

// A cell as shown in an error: short, and without terminal control characters.
std::string shown(std::string_view cell);

}  // namespace isentropic::io
