// Damaged IDX files of images and labels, plain and gzipped: fuzz_idx SECONDS [FIRST INPUT].
#include <zlib.h>

#include <stdexcept>

#include "fuzz/run_for.hpp"
#include "fuzz/scratch_folder.hpp"
#include "io/idx.hpp"

namespace isentropic::io {
namespace {

std::string idx(const std::vector<std::uint32_t>& sizes, const std::string& values) {
  std::string out = {0, 0, 8, static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes)
    for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(size >> shift);
  return out + values;
}

std::string packed(const std::string& bytes) {
  z_stream stream{};
  std::string out(bytes.size() + 128, '\0');
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);  // 16: gzip format
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// An input is the image file, followed after the last NUL SPACE NUL by the label file.
const std::string kBetween("\0 \0", 3);

std::vector<std::string> examples() {
  const std::string images = idx({2, 2, 3}, "abcdefghijkl"), labels = idx({2}, "\x07\x09");
  return {images + kBetween + labels, packed(images) + kBetween + labels, images + kBetween + packed(labels),
          packed(idx({1, 28, 28}, std::string(784, '\x01'))) + kBetween + idx({1}, "\x01")};
}

void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

void read(const fuzz::ScratchFolder& folder, const std::string& input) {
  const std::size_t at = input.rfind(kBetween);
  folder.write("t10k-images-idx3-ubyte", input.substr(0, at));
  folder.write("t10k-labels-idx1-ubyte", at == std::string::npos ? "" : input.substr(at + kBetween.size()));
  const LabelledImages found = read_labelled_images(folder.path(), "t10k");
  require(found.count > 0 && found.labels.size() == found.count, "labels that are not one for each image");
  require(found.pixels.size() == found.count * found.rows * found.columns, "pixels that are not those of the images");
  static_cast<void>(checksum(found));
}

}  // namespace
}  // namespace isentropic::io

int main(int count, char** arguments) {
  using namespace isentropic;
  const fuzz::ScratchFolder folder;
  return fuzz::run_for(count, arguments, fuzz::Mutator(io::examples()),
                       [&](const std::string& input) { io::read(folder, input); });
}
