// Finds the files of a checkpoint and joins their tensors.
#include "checkpoint/checkpoint.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/mapped_file.hpp"
#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"

namespace isentropic::checkpoint {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::size_t kLargestIndex = 100'000'000;
constexpr io::JsonLimits kIndexLimits = {.depth = 8, .values = 4'000'000};

using Shards = std::map<std::string, SafetensorsFile, std::less<>>;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

[[noreturn]] void refuse_folder(const std::string& folder) {
  for (const char* const pickled : {"pytorch_model.bin", "pytorch_model.bin.index.json"})
    if (is_there(fs::path(folder) / pickled))
      throw Error(folder, std::string("a folder with ") + pickled + " and without " + kFile,
                  "safetensors: convert it, with save_pretrained of transformers");
  throw Error(folder, std::string("a folder without ") + kFile + " and " + kIndex, "a checkpoint");
}

// An index may name only files next to it.
void require_plain_name(const std::string& index, const std::string& tensor, const std::string& shard) {
  constexpr std::string_view kSeparators("/\\\0", 3);
  if (shard.empty() || shard == "." || shard == ".." || shard.find_first_of(kSeparators) != std::string::npos)
    throw Error(index + ": shard of tensor " + io::excerpt(tensor), io::excerpt(shard),
                "the name of a file in the same folder");
}

json read_weight_map(const std::string& index) {
  const MappedFile file = map_file(index, "an index of shards");
  if (file.bytes.size() > kLargestIndex)
    throw Error(index, std::to_string(file.bytes.size()) + " bytes long", "at most " + std::to_string(kLargestIndex));
  json content = io::parse_object(index, file.text(), kIndexLimits);
  const auto weight_map = content.find("weight_map");
  if (weight_map == content.end()) throw Error(index + ": weight_map", "missing", "an object");
  if (!weight_map->is_object()) throw Error(index + ": weight_map", io::excerpt(*weight_map), "an object");
  for (const auto& [tensor, shard] : weight_map->items()) {
    if (!shard.is_string())
      throw Error(index + ": shard of tensor " + io::excerpt(tensor), io::excerpt(shard), "the name of a file");
    require_plain_name(index, tensor, shard.get_ref<const std::string&>());
  }
  return std::move(*weight_map);
}

Shards open_shards(const fs::path& index, const json& weight_map) {
  Shards out;
  for (const auto& [tensor, shard] : weight_map.items()) {
    const auto& file = shard.get_ref<const std::string&>();
    if (out.contains(file)) continue;
    const fs::path path = index.parent_path() / file;
    if (!is_there(path))
      throw Error(index.string() + ": shard " + io::excerpt(file), "missing",
                  "a file, for it is to hold " + io::excerpt(tensor));
    out.emplace(file, SafetensorsFile::open(path.string()));
  }
  return out;
}

[[noreturn]] void refuse_tensor(const std::string& index, const std::string& tensor, const std::string& shard,
                                const Shards& shards) {
  const std::string place = index + ": tensor " + io::excerpt(tensor);
  for (const auto& [other, file] : shards)
    if (file.find(tensor) != nullptr)
      throw Error(place, "in " + io::excerpt(other), io::excerpt(shard) + ", as the index says");
  throw Error(place, "missing from " + io::excerpt(shard), "it there, as the index says");
}

}  // namespace

Checkpoint Checkpoint::open(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path.ends_with(".index.json") ? open_index(path) : open_file(path);
  const fs::path folder = path;
  if (is_there(folder / kFile)) return open_file((folder / kFile).string());
  if (is_there(folder / kIndex)) return open_index((folder / kIndex).string());
  refuse_folder(path);
}

Checkpoint Checkpoint::open_file(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  Checkpoint out;
  out.path_ = path;
  out.metadata_ = file.metadata();
  for (const StoredTensor& tensor : file.tensors()) out.tensors_.emplace(tensor.name, tensor);
  return out;
}

Checkpoint Checkpoint::open_index(const std::string& path) {
  const json weight_map = read_weight_map(path);
  const Shards shards = open_shards(path, weight_map);
  Checkpoint out;
  out.path_ = path;
  for (const auto& [shard, file] : shards) out.metadata_.insert(file.metadata().begin(), file.metadata().end());
  for (const auto& [name, shard] : weight_map.items()) {
    const auto& file = shard.get_ref<const std::string&>();
    const StoredTensor* const tensor = shards.at(file).find(name);
    if (tensor == nullptr) refuse_tensor(path, name, file, shards);
    out.tensors_.emplace(name, *tensor);
  }
  return out;
}

const StoredTensor& Checkpoint::tensor(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw Error(path_ + ": tensor " + io::excerpt(name), "missing", "one of the checkpoint");
  return found->second;
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : tensors_) out.push_back(name);
  return out;
}

std::uint64_t Checkpoint::total_bytes() const {
  std::uint64_t out = 0;
  for (const auto& [name, tensor] : tensors_) out += tensor.bytes.size();
  return out;
}

}  // namespace isentropic::checkpoint
