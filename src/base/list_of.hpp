// Names in a sentence, for error messages.
#pragma once

#include <string>
#include <vector>

namespace isentropic {

// "a, b or c".
inline std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) out += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
  return out;
}

}  // namespace isentropic
