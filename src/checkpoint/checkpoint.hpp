// The weights of a model in Hugging Face's layout: one safetensors file, or an index and its shards.
//
//   model.safetensors
//   model.safetensors.index.json   {"weight_map": {"name of a tensor": "model-00001-of-00002.safetensors", ...}}
//
// If both exist, the first is used. Tensors in a shard that the index does not name are ignored.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.hpp"

namespace isentropic::checkpoint {

class Checkpoint {
 public:
  // `path`: a folder, a safetensors file, or an index (*.index.json). Reads and checks all headers, but no data. Throws
  // Error if something is missing or wrong.
  static Checkpoint open(const std::string& path);

  bool has(std::string_view name) const { return tensors_.contains(name); }
  // Throws Error if there is none.
  const StoredTensor& tensor(std::string_view name) const;
  std::vector<std::string> names() const;  // sorted
  std::uint64_t total_bytes() const;       // of all tensors
  // Of all files combined.
  const Metadata& metadata() const { return metadata_; }

 private:
  static Checkpoint open_file(const std::string& path);
  static Checkpoint open_index(const std::string& path);

  std::string path_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  Metadata metadata_;
};

}  // namespace isentropic::checkpoint
