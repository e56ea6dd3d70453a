// Writes safetensors files byte for byte as the reference implementation does.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "checkpoint/safetensors.hpp"
#include "io/output_file.hpp"
#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"

namespace isentropic::checkpoint {
namespace {

using nlohmann::ordered_json;

constexpr const char* kArgument = "the safetensors file";

// Widest type first, so that every tensor is aligned; then by name.
void sort_for_file(std::vector<StoredTensor>* tensors) {
  std::ranges::sort(*tensors, [](const StoredTensor& a, const StoredTensor& b) {
    return a.type != b.type ? a.type > b.type : a.name < b.name;
  });
}

void check(const std::vector<StoredTensor>& tensors) {
  std::vector<std::string_view> names = {kMetadataKey};
  for (const StoredTensor& tensor : tensors) {
    require_byte_count("tensor " + io::excerpt(tensor.name), tensor);
    names.emplace_back(tensor.name);
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::adjacent_find(names);
  if (repeated != names.end()) throw Error("the name of a tensor", io::excerpt(*repeated), "one that is not in use");
}

// The JSON, padded with spaces to a multiple of eight.
std::string header_of(const std::vector<StoredTensor>& tensors, const Metadata& metadata) {
  std::string text = "{";
  const auto add = [&](std::string_view key, const ordered_json& value) {
    if (text.size() > 1) text += ',';
    text.append(ordered_json(key).dump()).append(":").append(value.dump());
  };
  if (!metadata.empty()) add(kMetadataKey, metadata);
  std::uint64_t offset = 0;
  for (const StoredTensor& tensor : tensors) {
    const std::uint64_t end = offset + tensor.bytes.size();
    add(tensor.name, {{"dtype", name(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}});
    offset = end;
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

std::string in_eight_bytes(std::uint64_t length) {
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) out += static_cast<char>(length >> (8 * i));
  return out;
}

}  // namespace

void write_safetensors(const std::string& path, std::vector<StoredTensor> tensors, const Metadata& metadata,
                       std::uint64_t longest_header) {
  check(tensors);
  sort_for_file(&tensors);
  std::string header;
  try {
    header = header_of(tensors, metadata);
  } catch (const nlohmann::json::type_error&) {
    throw Error("a name or the metadata", "not UTF-8", "UTF-8, which " + path + " is to hold");
  }
  require_header_length(path, header.size(), longest_header);
  const std::string length = in_eight_bytes(header.size());
  std::vector<std::string_view> pieces = {length, header};
  for (const StoredTensor& tensor : tensors)
    pieces.emplace_back(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  io::write_file(kArgument, path, pieces);
}

}  // namespace isentropic::checkpoint
