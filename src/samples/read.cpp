#include "samples/read.hpp"

#include <filesystem>
#include <fstream>

#include "isentropic/error.hpp"
#include "samples/columns.hpp"
#include "samples/formats.hpp"

namespace isentropic::samples {

Plan plan_of(const std::vector<Selection>& selections, std::size_t count, const std::vector<std::string>& names) {
  Plan out;
  for (const Selection& selection : selections) {
    out.columns.push_back(columns_in(selection.argument, selection.list, count, names));
    Part part;
    part.table.columns = out.columns.back().size();
    for (std::size_t column : out.columns.back())
      part.names.push_back(names.empty() ? std::to_string(column) : names[column]);
    out.parts.push_back(std::move(part));
  }
  return out;
}

std::vector<Part> read(const std::string& path, const std::vector<Selection>& selections) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw Error(path, "missing", "a data file");
  if (std::filesystem::is_directory(path, ignored)) throw Error(path, "a directory", "a data file");
  // A pipe is opened once only, to be read: what its writer sent meanwhile would be lost.
  const bool file = std::filesystem::is_regular_file(path, ignored);
  if (file && !std::ifstream(path)) throw Error(path, "not readable", "a data file");
  const bool npy = std::filesystem::path(path).extension() == ".npy";
  if (npy && !file) throw Error(path, "not a regular file", "a file, for a NumPy array");
  return npy ? read_npy(path, selections) : read_text(path, selections);
}

}  // namespace isentropic::samples
