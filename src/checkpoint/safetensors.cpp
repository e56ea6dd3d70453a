// Reads and checks the header of a safetensors file.
#include "checkpoint/safetensors.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "checkpoint/mapped_file.hpp"
#include "io/untrusted_json.hpp"
#include "isentropic/error.hpp"

namespace isentropic::checkpoint {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr io::JsonLimits kHeaderLimits = {.depth = 8, .values = 4'000'000};  // half a million tensors
constexpr std::size_t kMostAxes = 64;                                        // PyTorch's limit

std::string header_length_of(const std::string& place) { return place + ": length of the header"; }

struct Parts {
  std::string_view header;
  std::span<const std::byte> data;
};

Parts split(const std::string& place, std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes)
    throw Error(place, std::to_string(bytes.size()) + " bytes long", "at least 8 bytes, the length of the header");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  const auto rest = bytes.subspan(kLengthBytes);
  require_header_length(place, length);
  if (length > rest.size())
    throw Error(header_length_of(place), std::to_string(length),
                "at most the " + std::to_string(rest.size()) + " bytes that follow");
  return {{reinterpret_cast<const char*>(rest.data()), length}, rest.subspan(length)};
}

// A field of a tensor's description.
const json& field(const std::string& place, const json& description, const char* key, const char* expected) {
  if (!description.is_object())
    throw Error(place, io::excerpt(description), "an object with dtype, shape and data_offsets");
  const json* const found = io::member(description, key);
  if (found == nullptr) throw Error(place + ": " + key, "missing", expected);
  return *found;
}

ElementType read_type(const std::string& place, const json& description) {
  constexpr const char* kExpected = "a type of the format, such as F32 or BF16";
  const json& found = field(place, description, "dtype", kExpected);
  if (found.is_string())
    if (const auto type = element_type_named(found.get_ref<const std::string&>())) return *type;
  throw Error(place + ": dtype", io::excerpt(found), kExpected);
}

Shape read_shape(const std::string& place, const json& description) {
  const json& found = field(place, description, "shape", "a list of sizes");
  if (!found.is_array() || !std::ranges::all_of(found, io::is_size))
    throw Error(place + ": shape", io::excerpt(found), "a list of sizes from 0 to 2^63 - 1");
  if (found.size() > kMostAxes)
    throw Error(place + ": shape", "of " + std::to_string(found.size()) + " axes",
                "at most " + std::to_string(kMostAxes));
  return found.get<Shape>();
}

std::span<const std::byte> read_data(const std::string& place, const json& description,
                                     std::span<const std::byte> data) {
  const json& found = field(place, description, "data_offsets", "two offsets");
  const std::string argument = place + ": data_offsets";
  if (!found.is_array() || found.size() != 2 || !io::is_size(found[0]) || !io::is_size(found[1]))
    throw Error(argument, io::excerpt(found), "two offsets, integers from 0 on");
  const auto begin = found[0].get<std::uint64_t>(), end = found[1].get<std::uint64_t>();
  if (begin > end) throw Error(argument, io::excerpt(found), "a begin that is not above the end");
  if (end > data.size())
    throw Error(argument, io::excerpt(found), "an end within the " + std::to_string(data.size()) + " bytes of data");
  return data.subspan(begin, end - begin);
}

StoredTensor read_tensor(const std::string& file, const std::string& name, const json& description,
                         std::span<const std::byte> data) {
  const std::string place = file + ": tensor " + io::excerpt(name);
  StoredTensor out = {.name = name,
                      .type = read_type(place, description),
                      .shape = read_shape(place, description),
                      .bytes = read_data(place, description, data),
                      .owner = nullptr};
  require_byte_count(place, out);
  return out;
}

Metadata read_metadata(const std::string& file, const json& found) {
  if (found.is_null()) return {};
  if (!found.is_object()) throw Error(file + ": __metadata__", io::excerpt(found), "an object of texts");
  for (const auto& [key, value] : found.items())
    if (!value.is_string()) throw Error(file + ": __metadata__: " + io::excerpt(key), io::excerpt(value), "a text");
  return found.get<Metadata>();
}

// Every byte of the data belongs to exactly one tensor.
void require_cover(const std::string& file, const std::vector<StoredTensor>& tensors, std::span<const std::byte> data) {
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& tensor : tensors) order.push_back(&tensor);
  const auto begin = [&](const StoredTensor* tensor) { return tensor->bytes.data() - data.data(); };
  const auto end = [&](const StoredTensor* tensor) { return begin(tensor) + std::ssize(tensor->bytes); };
  std::ranges::sort(order, {}, [&](const StoredTensor* tensor) { return std::pair(begin(tensor), end(tensor)); });
  std::ptrdiff_t covered = 0;
  for (const StoredTensor* tensor : order) {
    if (begin(tensor) != covered)
      throw Error(file + ": begin of tensor " + io::excerpt(tensor->name), std::to_string(begin(tensor)),
                  std::to_string(covered) + ", where the tensor before it ends: " +
                      (begin(tensor) < covered ? "they overlap" : "there is a hole"));
    covered = end(tensor);
  }
  if (covered != std::ssize(data))
    throw Error(file + ": end of the last tensor", std::to_string(covered),
                std::to_string(data.size()) + ", the end of the data");
}

}  // namespace

void require_header_length(const std::string& place, std::uint64_t length, std::uint64_t longest) {
  if (length > longest)
    throw Error(header_length_of(place), std::to_string(length), "at most " + std::to_string(longest));
}

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  MappedFile file = map_file(path, "a safetensors file");
  return parse(path, file.bytes, std::move(file.owner));
}

SafetensorsFile SafetensorsFile::parse(const std::string& place, std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner) {
  const Parts parts = split(place, bytes);
  const json header = io::parse_object(place + ": header", parts.header, kHeaderLimits);
  SafetensorsFile out;
  for (const auto& [name, description] : header.items()) {  // sorted by name
    if (name == kMetadataKey) {
      out.metadata_ = read_metadata(place, description);
      continue;
    }
    out.tensors_.push_back(read_tensor(place, name, description, parts.data));
    out.tensors_.back().owner = owner;
  }
  require_cover(place, out.tensors_, parts.data);
  return out;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &StoredTensor::name);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace isentropic::checkpoint
