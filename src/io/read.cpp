// Chooses the reader by the file's format, and drops or rejects rows with missing values.
#include "io/read.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "io/columns.hpp"
#include "io/formats.hpp"
#include "isentropic/error.hpp"

namespace isentropic::io {
namespace {

bool is_complete(const std::vector<Part>& parts, std::size_t row) {
  return std::ranges::all_of(parts, [&](const Part& part) {
    return std::ranges::none_of(part.table.row(row), [](double value) { return std::isnan(value); });
  });
}

// Drops rows with a missing value in any part, from all parts.
void drop_incomplete_rows(const std::string& path, Samples* samples) {
  std::vector<Part>& parts = samples->parts;
  const std::size_t rows = parts.front().table.rows;
  std::size_t kept = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    if (!is_complete(parts, r)) continue;
    for (Part& part : parts) std::ranges::copy(part.table.row(r), part.table.row(kept).begin());
    ++kept;
  }
  if (kept == 0) throw Error(path, "without a complete row in these columns", "at least one");
  for (Part& part : parts) {
    part.table.rows = kept;
    part.table.values.resize(kept * part.table.columns);
  }
  samples->rows_dropped = rows - kept;
}

}  // namespace

Plan plan_of(const std::vector<Selection>& selections, std::size_t count, const std::vector<std::string>& names,
             std::size_t first) {
  Plan out;
  for (const Selection& selection : selections) {
    out.columns.push_back(columns_in(selection.argument, selection.list, count, names, first));
    Part part;
    part.table.columns = out.columns.back().size();
    for (std::size_t column : out.columns.back())
      part.names.push_back(names.empty() || names[column].empty() ? std::to_string(column) : names[column]);
    out.parts.push_back(std::move(part));
  }
  return out;
}

void refuse_missing(const std::string& place, const std::string& value, const Options& options) {
  throw Error(place, value,
              options.instead_of_missing.empty() ? "a value" : "a value, or " + options.instead_of_missing);
}

Samples read(const std::string& path, const std::vector<Selection>& selections, const Options& options) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw Error(path, "missing", "a data file");
  if (std::filesystem::is_directory(path, ignored)) throw Error(path, "a directory", "a data file");
  // A pipe may be opened only once, for reading: data written in between would be lost.
  const bool file = std::filesystem::is_regular_file(path, ignored);
  if (file && !std::ifstream(path)) throw Error(path, "not readable", "a data file");
  const bool npy = std::filesystem::path(path).extension() == ".npy";
  if (npy && !file) throw Error(path, "not a regular file", "a file, for a NumPy array");
  Samples out = npy ? read_npy(path, selections, options) : read_text(path, selections, options);
  if (options.missing == Missing::dropped) drop_incomplete_rows(path, &out);
  return out;
}

}  // namespace isentropic::io
