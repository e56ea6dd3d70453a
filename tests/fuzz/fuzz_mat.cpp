// Damaged MATLAB files, compressed and not, in both byte orders: fuzz_mat SECONDS [FIRST INPUT].
#include <zlib.h>

#include <cstring>
#include <stdexcept>

#include "fuzz/run_for.hpp"
#include "fuzz/scratch_folder.hpp"
#include "io/mat.hpp"

namespace isentropic::io {
namespace {

// Writes numbers in a given byte order.
struct Writer {
  bool big = false;

  template <class T>
  std::string bytes(T number) const {
    std::string out(sizeof(T), '\0');
    std::memcpy(out.data(), &number, sizeof(T));
    return big ? std::string(out.rbegin(), out.rend()) : out;
  }
  std::string element(std::uint32_t type, const std::string& data) const {
    return bytes(type) + bytes(static_cast<std::uint32_t>(data.size())) + data +
           std::string((8 - data.size() % 8) % 8, '\0');
  }
  // A matrix of 2 x 3 doubles of a given class; 6 means doubles, 4 text, 1 cells.
  std::string matrix(std::uint32_t kind) const {
    std::string numbers;
    for (const double x : {1.0, 2.0, 3.0, 4.0, 5.0, -6.5}) numbers += bytes(x);
    return element(14, element(6, bytes(kind) + bytes(std::uint32_t{0})) +
                           element(5, bytes(std::int32_t{2}) + bytes(std::int32_t{3})) + element(1, "name") +
                           element(9, numbers));
  }
  // Short elements pack both of their header numbers into one word: name "x" and a single byte as the real part.
  std::string small() const {
    const auto word = [&](std::uint32_t type, const std::string& data) {
      return bytes(static_cast<std::uint32_t>(data.size()) << 16 | type) + data + std::string(4 - data.size(), '\0');
    };
    return element(14, element(6, bytes(std::uint32_t{9}) + bytes(std::uint32_t{0})) +
                           element(5, bytes(std::int32_t{1}) + bytes(std::int32_t{1})) + word(1, "x") +
                           word(2, "\x05"));
  }
  std::string compressed(const std::string& inner) const {
    std::string out(compressBound(inner.size()), '\0');
    uLongf size = out.size();
    compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(inner.data()), inner.size());
    out.resize(size);
    return bytes(std::uint32_t{15}) + bytes(static_cast<std::uint32_t>(size)) + out;
  }
  std::string file(const std::string& elements) const {
    std::string header(124, ' ');
    header.replace(0, 10, "MATLAB 5.0");
    return header + (big ? std::string("\x01\x00MI", 4) : std::string("\x00\x01IM", 4)) + elements;
  }
};

std::vector<std::string> examples() {
  const Writer little, big{true};
  return {little.file(little.matrix(6)),
          big.file(big.matrix(6)),
          little.file(little.small() + little.matrix(4) + little.matrix(6)),
          little.file(little.compressed(little.matrix(6)) + little.compressed(little.small())),
          little.file(little.matrix(1)),
          little.file("")};
}

void read(const fuzz::ScratchFolder& folder, const std::string& input) {
  for (const NamedMatrix& matrix : read_mat(folder.write("input.mat", input)))
    if (matrix.table.values.size() != matrix.table.rows * matrix.table.columns)
      throw std::logic_error("a matrix without all of its numbers");
}

}  // namespace
}  // namespace isentropic::io

int main(int count, char** arguments) {
  using namespace isentropic;
  const fuzz::ScratchFolder folder;
  return fuzz::run_for(count, arguments, fuzz::Mutator(io::examples()),
                       [&](const std::string& input) { io::read(folder, input); });
}
