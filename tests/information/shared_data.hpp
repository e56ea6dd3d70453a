// Samples stored outside the repository, for comparisons with other programs; those tests are skipped without them.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace isentropic::information {

// $ISENTROPIC_SHARED/data, or shared/data beside the sources.
inline std::filesystem::path shared_data() {
  const char* const shared = std::getenv("ISENTROPIC_SHARED");
  return (shared != nullptr ? std::filesystem::path(shared)
                            : std::filesystem::path(ISENTROPIC_SOURCES) / ".." / "shared") /
         "data";
}

}  // namespace isentropic::information

#define SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << (path) << "; set ISENTROPIC_SHARED"
