// Files of tensors in the safetensors format, read through a memory map.
//
//   8 bytes   the length n of the header, little-endian
//   n bytes   the header, JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...} and, under
//             "__metadata__", an object of texts; spaces may follow
//   the rest  the data: elements little-endian, row-major. Offsets count from here.
//
// The tensors cover the data without gaps or overlaps, as the reference implementation requires. Like the reference,
// this reader allows a header length that is not a multiple of 8; elements may then be misaligned
// (StoredTensor::is_aligned).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/stored_tensor.hpp"

namespace isentropic::checkpoint {

inline constexpr const char* kMetadataKey = "__metadata__";
using Metadata = std::map<std::string, std::string>;

// Bytes; the reference's limit. Files beyond it are neither read nor written.
inline constexpr std::uint64_t kLongestHeader = 100'000'000;
// Throws Error, starting with `place`, if it is longer.
void require_header_length(const std::string& place, std::uint64_t length, std::uint64_t longest = kLongestHeader);

class SafetensorsFile {
 public:
  // Reads the header and checks all of it; the data is not touched. If something is wrong, throws Error naming the
  // file, the tensor and the offending value.
  static SafetensorsFile open(const std::string& path);

  // The same for a file in memory; `owner` keeps the bytes alive, and `place` names them in errors.
  static SafetensorsFile parse(const std::string& place, std::span<const std::byte> bytes,
                               std::shared_ptr<const void> owner);

  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // sorted by name
  const StoredTensor* find(std::string_view name) const;                 // null: there is none
  const Metadata& metadata() const { return metadata_; }

 private:
  std::vector<StoredTensor> tensors_;
  Metadata metadata_;
};

// Writes the tensors in the reference's order, widest type first and then by name, so that every tensor is aligned.
// Writes tensor bytes without copying them. Throws Error if names repeat, if bytes do not fit the shape, if the header
// is longer than `longest_header`, or if the file cannot be written; whatever was at `path` before then stays intact.
void write_safetensors(const std::string& path, std::vector<StoredTensor> tensors, const Metadata& metadata = {},
                       std::uint64_t longest_header = kLongestHeader);

}  // namespace isentropic::checkpoint
