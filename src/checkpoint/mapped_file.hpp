// A file seen through a read-only memory map: nothing is read until it is touched.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace isentropic::checkpoint {

// The bytes stay valid as long as a copy of `owner` lives, even if the file is renamed or deleted meanwhile. One that
// is cut shorter in place ends the program when a missing page is touched, as with every map.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// Throws Error unless `path` is a regular file, or a link to one, with at least one byte. `expected` says what it
// should be: "a safetensors file".
MappedFile map_file(const std::string& path, const std::string& expected);

}  // namespace isentropic::checkpoint
