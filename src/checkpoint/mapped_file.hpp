// A file seen through a read-only memory map: nothing is read until it is accessed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace isentropic::checkpoint {

// The bytes stay valid as long as a copy of `owner` lives, even if the file is renamed or deleted meanwhile. If the
// file is truncated in place, accessing a missing page kills the program, as with any memory map.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// Throws Error unless `path` is a regular file, or a link to one, with at least one byte. `expected` describes what it
// should be: "a safetensors file".
MappedFile map_file(const std::string& path, const std::string& expected);

}  // namespace isentropic::checkpoint
