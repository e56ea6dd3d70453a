// Reads IDX files through zlib, which accepts both plain and gzipped ones.
#include "io/idx.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <span>

#include "isentropic/error.hpp"

namespace isentropic::io {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

std::string plain_or_packed(const std::string& path) {
  for (const char* ending : {"", ".gz"})
    if (std::filesystem::is_regular_file(path + ending)) return path + ending;
  throw Error(path, "missing", "an IDX file of that name, or one that ends in .gz");
}

class IdxFile {
 public:
  explicit IdxFile(const std::string& path) : path_(plain_or_packed(path)), file_(gzopen(path_.c_str(), "rb")) {
    if (!file_) throw Error(path_, "not readable", "an IDX file");
  }

  // The sizes of an array with this many axes, each at least 1.
  template <std::size_t axes>
  std::array<std::size_t, axes> sizes() {
    const std::uint32_t magic = word(), wanted = 0x0800 + axes;
    if (magic != wanted)
      throw Error(path_, fmt::format("with the magic number {:#010x}", magic), fmt::format("{:#010x}", wanted));
    std::array<std::size_t, axes> out;
    std::size_t product = 1;
    for (std::size_t& size : out) {
      size = word();
      // Sizes are below 2^32 and the product is at most 2^30, so this does not overflow.
      if (size == 0 || (product *= size) > kMostBytes)
        throw Error(path_, fmt::format("with a size of {} in its header", size),
                    fmt::format("sizes of 1 and more whose product is at most {}", kMostBytes));
    }
    return out;
  }

  std::vector<std::uint8_t> values(std::size_t count) {
    std::vector<std::uint8_t> out;
    while (out.size() < count) {
      const std::size_t have = out.size(), piece = std::min(count - have, kPieceBytes);
      out.resize(have + piece);
      read(out.data() + have, piece);
    }
    std::uint8_t beyond = 0;
    if (read_some(&beyond, 1) != 0)
      throw Error(path_, "longer than its header says", fmt::format("{} bytes behind the header", count));
    return out;
  }

 private:
  std::uint32_t word() {
    std::array<std::uint8_t, 4> bytes;
    read(bytes.data(), bytes.size());
    std::uint32_t out = 0;
    for (const std::uint8_t byte : bytes) out = out << 8 | byte;
    return out;
  }

  void read(std::uint8_t* to, std::size_t count) {
    if (read_some(to, count) < count) throw Error(path_, "cut off", "as many bytes as its header says");
  }

  // Returns fewer at the end of the file.
  std::size_t read_some(std::uint8_t* to, std::size_t count) {
    const int got = gzread(file_.get(), to, static_cast<unsigned>(count));
    int status = Z_OK;
    gzerror(file_.get(), &status);
    if (got < 0 || status == Z_BUF_ERROR)  // the latter if an archive ends without its checksum
      throw Error(path_, "damaged", "an IDX file of bytes, plain or packed with gzip");
    return static_cast<std::size_t>(got);
  }

  std::string path_;
  std::unique_ptr<gzFile_s, CloseGzip> file_;
};

}  // namespace

LabelledImages read_labelled_images(const std::string& folder, const std::string& part) {
  LabelledImages out;
  const std::string labels_path = folder + "/" + part + "-labels-idx1-ubyte";
  IdxFile images(folder + "/" + part + "-images-idx3-ubyte"), labels(labels_path);
  const auto [count, rows, columns] = images.sizes<3>();
  const auto [label_count] = labels.sizes<1>();
  if (label_count != count)
    throw Error(labels_path, fmt::format("of {} labels", label_count),
                fmt::format("{}, one for each image beside it", count));
  out.count = count, out.rows = rows, out.columns = columns;
  out.labels = labels.values(count);
  out.pixels = images.values(count * rows * columns);
  return out;
}

std::uint32_t checksum(const LabelledImages& images) {
  uLong out = crc32_z(0, nullptr, 0);
  for (const auto& bytes : {std::span(images.pixels), std::span(images.labels)})
    out = crc32_z(out, bytes.data(), bytes.size());
  return static_cast<std::uint32_t>(out);
}

}  // namespace isentropic::io
