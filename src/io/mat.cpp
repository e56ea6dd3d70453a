// Reads elements sequentially; every length is checked against the bytes available.
#include "io/mat.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "isentropic/error.hpp"

namespace isentropic::io {
namespace {

constexpr std::size_t kHeader = 128, kMostMatrixBytes = std::size_t{1} << 30;

enum ElementType : std::uint32_t { kInt32 = 5, kUint32 = 6, kInt8 = 1, kMatrix = 14, kCompressed = 15 };
enum ArrayClass : std::uint32_t { kFirstNumeric = 6, kLastNumeric = 15 };  // double, single, integers of 8 to 64 bits
constexpr std::uint32_t kComplexFlag = 0x0800;

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw Error(path, what, "a MATLAB file of version 5");
}

std::string whole_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw Error(path, "missing", "a data file");
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) throw Error(path, "not readable", "a data file");
  return {std::istreambuf_iterator<char>(file), {}};
}

// A part of the file, read from start to end.
class Bytes {
 public:
  Bytes(const std::string& path, std::string_view bytes, bool swapped)
      : path_(&path), bytes_(bytes), swapped_(swapped) {}

  bool empty() const { return bytes_.empty(); }
  const std::string& path() const { return *path_; }
  std::string_view rest() const { return bytes_; }

  template <class T>
  T number() {
    T out;
    const std::string_view from = take(sizeof(T));
    std::array<char, sizeof(T)> copy;
    for (std::size_t i = 0; i < sizeof(T); ++i) copy[i] = from[swapped_ ? sizeof(T) - 1 - i : i];
    std::memcpy(&out, copy.data(), sizeof(T));
    return out;
  }
  Bytes part(std::size_t length) { return {*path_, take(length), swapped_}; }
  void skip_padding(std::size_t length) { take(std::min(bytes_.size(), (8 - length % 8) % 8)); }
  Bytes unpacked(const std::string& room) const { return {*path_, room, swapped_}; }

 private:
  std::string_view take(std::size_t length) {
    if (length > bytes_.size()) damaged(*path_, "truncated or damaged");
    const std::string_view out = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return out;
  }

  const std::string* path_;
  std::string_view bytes_;
  bool swapped_;
};

struct Element {
  std::uint32_t type;
  Bytes data;
};

Element next_element(Bytes* bytes) {
  const auto first = bytes->number<std::uint32_t>();
  if (const std::uint32_t length = first >> 16; length != 0) {  // small element: type and length share a word
    Bytes word = bytes->part(4);
    if (length > 4) damaged(bytes->path(), "damaged: a small element of more than four bytes");
    return {first & 0xFFFF, word.part(length)};
  }
  const auto length = bytes->number<std::uint32_t>();
  Element out{first, bytes->part(length)};
  if (first != kCompressed) bytes->skip_padding(length);
  return out;
}

Element expected_element(Bytes* bytes, std::uint32_t type, const char* what) {
  Element out = next_element(bytes);
  if (out.type != type) damaged(bytes->path(), std::string("damaged: a matrix without ") + what);
  return out;
}

std::string inflated(const Bytes& packed) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw Error(packed.path(), "not unpacked: no memory", "some");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.rest().data()));
  stream.avail_in = static_cast<uInt>(packed.rest().size());
  std::string out;
  std::array<char, 1 << 16> buffer;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= kMostMatrixBytes) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = buffer.size();
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() > kMostMatrixBytes) damaged(packed.path(), "a matrix of more than a gigabyte");
  if (status != Z_STREAM_END) damaged(packed.path(), "truncated or damaged: a compressed matrix does not unpack");
  return out;
}

template <class T>
std::vector<double> numbers_as(Bytes data, std::size_t count) {
  std::vector<double> out(count);
  for (double& x : out) x = static_cast<double>(data.number<T>());
  return out;
}

// MATLAB stores numbers in the smallest type that can represent them, whatever the class of the matrix.
std::vector<double> numbers_in(const Element& element, std::size_t count) {
  constexpr std::array<std::size_t, 14> kSizes = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};
  const std::size_t size = element.type < kSizes.size() ? kSizes[element.type] : 0;
  if (size == 0) damaged(element.data.path(), "damaged: numbers of an unknown type");
  if (count > element.data.rest().size() / size) damaged(element.data.path(), "damaged: a matrix with too few numbers");
  switch (element.type) {
    case 1:
      return numbers_as<std::int8_t>(element.data, count);
    case 2:
      return numbers_as<std::uint8_t>(element.data, count);
    case 3:
      return numbers_as<std::int16_t>(element.data, count);
    case 4:
      return numbers_as<std::uint16_t>(element.data, count);
    case 5:
      return numbers_as<std::int32_t>(element.data, count);
    case 6:
      return numbers_as<std::uint32_t>(element.data, count);
    case 7:
      return numbers_as<float>(element.data, count);
    case 12:
      return numbers_as<std::int64_t>(element.data, count);
    case 13:
      return numbers_as<std::uint64_t>(element.data, count);
    default:
      return numbers_as<double>(element.data, count);
  }
}

// Empty unless it is a real matrix of two dimensions.
std::optional<NamedMatrix> matrix_in(Bytes bytes) {
  Bytes flags = expected_element(&bytes, kUint32, "flags").data;
  const auto flag = flags.number<std::uint32_t>();
  const std::uint32_t array_class = flag & 0xFF;
  if (array_class < kFirstNumeric || array_class > kLastNumeric || (flag & kComplexFlag) != 0) return {};
  Bytes dimensions = expected_element(&bytes, kInt32, "dimensions").data;
  if (dimensions.rest().size() != 8) return {};
  const auto rows = dimensions.number<std::int32_t>(), columns = dimensions.number<std::int32_t>();
  if (rows < 0 || columns < 0) damaged(bytes.path(), "damaged: a negative dimension");
  NamedMatrix out{std::string(expected_element(&bytes, kInt8, "a name").data.rest()), {}};
  const auto tall = static_cast<std::size_t>(rows), wide = static_cast<std::size_t>(columns);
  const std::vector<double> by_column = numbers_in(next_element(&bytes), tall * wide);
  out.table = information::Table(tall, wide);
  for (std::size_t c = 0; c < wide; ++c)
    for (std::size_t r = 0; r < tall; ++r) out.table(r, c) = by_column[c * tall + r];
  return out;
}

}  // namespace

std::vector<NamedMatrix> read_mat(const std::string& path) {
  const std::string file = whole_file(path);
  const std::string_view order = file.size() < kHeader ? "" : std::string_view(file).substr(126, 2);
  if (order != "IM" && order != "MI") damaged(path, "not one");
  const bool swapped = (order == "IM") != (std::endian::native == std::endian::little);
  Bytes bytes(path, file, swapped);
  Bytes header = bytes.part(kHeader), version = (header.part(124), header.part(2));
  if (version.number<std::uint16_t>() != 0x0100) damaged(path, "of another version");
  std::vector<NamedMatrix> out;
  while (!bytes.empty()) {
    const Element element = next_element(&bytes);
    std::string room;
    Element inner = element;
    if (element.type == kCompressed) {
      room = inflated(element.data);
      Bytes unpacked = element.data.unpacked(room);
      inner = next_element(&unpacked);
    }
    if (inner.type != kMatrix) continue;
    if (auto matrix = matrix_in(inner.data)) out.push_back(std::move(*matrix));
  }
  return out;
}

}  // namespace isentropic::io
