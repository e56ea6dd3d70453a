// Resolves column numbers, names and ranges given on the command line.
#include "io/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "isentropic/error.hpp"

namespace isentropic::io {
namespace {

std::optional<std::size_t> whole_number(const std::string& text) {
  std::size_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string expected_columns(std::size_t count, const std::vector<std::string>& names) {
  const std::string numbers = fmt::format("a column from 0 to {}", count - 1);
  constexpr std::size_t kShown = 12;
  if (names.empty()) return numbers + " (the file has no header: its first line holds a number)";
  const std::vector<std::string> shown(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
  return fmt::format("{} or one of {}{}", numbers, fmt::join(shown, ", "), names.size() > kShown ? ", ..." : "");
}

// One item of the list: the first and the last column of a range.
std::pair<std::size_t, std::size_t> range_of(const std::string& argument, const std::string& item, std::size_t count,
                                             const std::vector<std::string>& names) {
  const auto named = std::find(names.begin(), names.end(), item);
  if (named != names.end() && !item.empty()) {
    const auto column = static_cast<std::size_t>(named - names.begin());
    if (std::find(named + 1, names.end(), item) != names.end())
      throw Error(argument, "'" + item + "', the name of several columns", fmt::format("a number, such as {}", column));
    return {column, column};
  }
  const std::size_t dash = item.find('-');
  const auto first = whole_number(item.substr(0, dash));
  const auto last = dash == std::string::npos ? first : whole_number(item.substr(dash + 1));
  if (!first || !last || *last < *first || *last >= count)
    throw Error(argument, "'" + item + "'", expected_columns(count, names));
  return {*first, *last};
}

}  // namespace

std::vector<std::size_t> columns_in(const std::string& argument, const std::string& list, std::size_t count,
                                    const std::vector<std::string>& names, std::size_t first_of_all) {
  std::vector<std::size_t> out;
  if (list == "*") {
    for (std::size_t column = first_of_all; column < count; ++column) out.push_back(column);
    if (out.empty()) throw Error(argument, "without a column", "a file with columns besides the names of its rows");
    return out;
  }
  std::vector<bool> taken(count, false);
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const auto [first, last] = range_of(argument, list.substr(begin, end - begin), count, names);
    for (std::size_t column = first; column <= last; ++column) {
      if (taken[column]) throw Error(argument, "'" + list + "'", fmt::format("column {} only once", column));
      taken[column] = true;
      out.push_back(column);
    }
    begin = end + 1;
  }
  return out;
}

}  // namespace isentropic::io
