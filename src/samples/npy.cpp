// NumPy's array file: the magic word, a version, the length of a header, a header that is the text of a Python
// dictionary {'descr': '<f8', 'fortran_order': False, 'shape': (100, 2), }, then the numbers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "isentropic/error.hpp"
#include "samples/formats.hpp"

namespace isentropic::samples {
namespace {

enum class Order { rows_together, columns_together };

struct Layout {
  char kind = 'f';        // f: floating point, i: signed, u: unsigned, b: boolean
  std::size_t bytes = 8;  // of a number
  bool swapped = false;   // the other byte order
  Order order = Order::rows_together;
  std::size_t rows = 0, columns = 1;
  std::size_t offset = 0;  // of the first number
};

[[noreturn]] void malformed(const std::string& path, const std::string& what) {
  throw Error(path, what, "a NumPy array of numbers with one or two dimensions");
}

// What follows 'key': in the header, blanks skipped.
std::string_view value_of(const std::string& path, std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "'");
  const std::size_t colon = at == std::string_view::npos ? at : header.find(':', at);
  const std::size_t begin = colon == std::string_view::npos ? colon : header.find_first_not_of(' ', colon + 1);
  if (begin == std::string_view::npos) malformed(path, "without '" + key + "' in its header");
  return header.substr(begin);
}

void read_type(const std::string& path, std::string_view header, Layout* layout) {
  const std::string_view text = value_of(path, header, "descr");
  const std::size_t end = text.size() > 1 && text[0] == '\'' ? text.find('\'', 1) : std::string_view::npos;
  const std::string type(end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1));
  static const std::vector<std::string> known = {"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
  if (type.size() != 3 || std::find(known.begin(), known.end(), type.substr(1)) == known.end())
    malformed(path, fmt::format("of type '{}'", type));
  layout->kind = type[1];
  layout->bytes = static_cast<std::size_t>(type[2] - '0');
  layout->swapped = type[0] == (std::endian::native == std::endian::little ? '>' : '<');
}

void read_shape(const std::string& path, std::string_view header, Layout* layout) {
  std::string_view text = value_of(path, header, "shape");
  const std::size_t close = text.find(')');
  if (text.empty() || text[0] != '(' || close == std::string_view::npos) malformed(path, "without a shape");
  text = text.substr(1, close - 1);
  std::vector<std::size_t> sizes;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_of("0123456789");
    if (begin == std::string_view::npos) break;
    std::size_t size = 0;
    const auto [end, failure] = std::from_chars(text.data() + begin, text.data() + text.size(), size);
    if (failure != std::errc{}) malformed(path, "too large");
    sizes.push_back(size);
    text = text.substr(static_cast<std::size_t>(end - text.data()));
  }
  if (sizes.empty() || sizes.size() > 2) malformed(path, fmt::format("of {} dimensions", sizes.size()));
  layout->rows = sizes[0];
  layout->columns = sizes.size() == 2 ? sizes[1] : 1;
}

// The header says how much must follow; what it says is believed only if the file is long enough.
Layout layout_of(const std::string& path, std::ifstream& in, std::size_t file_bytes) {
  unsigned char start[12] = {};
  in.read(reinterpret_cast<char*>(start), 12);
  if (in.gcount() < 10 || std::memcmp(start, "\x93NUMPY", 6) != 0) malformed(path, "without NumPy's first bytes");
  const bool long_header = start[6] >= 2;
  std::size_t length = start[8] + 256u * start[9];
  if (long_header) length += (static_cast<std::size_t>(start[10]) << 16) + (static_cast<std::size_t>(start[11]) << 24);
  Layout out;
  const std::size_t begin = long_header ? 12 : 10;
  out.offset = begin + length;
  if (out.offset > file_bytes) malformed(path, "cut off within its header");
  std::string header(length, '\0');
  in.clear();
  in.seekg(static_cast<std::streamoff>(begin));
  in.read(header.data(), static_cast<std::streamsize>(length));
  read_type(path, header, &out);
  read_shape(path, header, &out);
  if (value_of(path, header, "fortran_order").starts_with("True")) out.order = Order::columns_together;
  if (out.rows == 0 || out.columns == 0) throw Error(path, "empty", "at least one row of numbers");
  const std::size_t numbers = (file_bytes - out.offset) / out.bytes;
  if (out.columns > numbers || out.rows > numbers / out.columns)
    malformed(path, fmt::format("cut off: {} x {} numbers announced, {} there", out.rows, out.columns, numbers));
  return out;
}

template <class Number>
double as(const char* bytes) {
  Number value;
  std::memcpy(&value, bytes, sizeof(Number));
  return static_cast<double>(value);
}

double number_at(const char* source, const Layout& layout) {
  char bytes[8];
  std::copy_n(source, layout.bytes, bytes);
  if (layout.swapped) std::reverse(bytes, bytes + layout.bytes);
  switch (layout.kind) {
    case 'f':
      return layout.bytes == 4 ? as<float>(bytes) : as<double>(bytes);
    case 'i':
      return layout.bytes == 1   ? as<std::int8_t>(bytes)
             : layout.bytes == 2 ? as<std::int16_t>(bytes)
             : layout.bytes == 4 ? as<std::int32_t>(bytes)
                                 : as<std::int64_t>(bytes);
    default:
      return layout.bytes == 1   ? as<std::uint8_t>(bytes)
             : layout.bytes == 2 ? as<std::uint16_t>(bytes)
             : layout.bytes == 4 ? as<std::uint32_t>(bytes)
                                 : as<std::uint64_t>(bytes);
  }
}

// Numbers side by side in the file, a stretch of them at a time.
class Stretch {
 public:
  Stretch(std::ifstream& in, const Layout& layout, std::size_t numbers)
      : in_(in), layout_(layout), bytes_(numbers * layout.bytes) {}
  void load(std::size_t first) {
    const std::size_t place = layout_.offset + first * layout_.bytes;
    if (place != next_) in_.seekg(static_cast<std::streamoff>(place));  // which would empty the stream's buffer
    in_.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    next_ = place + bytes_.size();
  }
  double operator[](std::size_t i) const { return number_at(bytes_.data() + i * layout_.bytes, layout_); }

 private:
  std::ifstream& in_;
  const Layout& layout_;
  std::vector<char> bytes_;
  std::size_t next_ = 0;
};

void keep(const std::string& path, double value, std::size_t row, std::size_t column, double* out) {
  if (!std::isfinite(value))
    throw Error(fmt::format("{}, row {}, column {}", path, row, column), fmt::format("{}", value), "a finite number");
  *out = value;
}

}  // namespace

std::vector<Part> read_npy(const std::string& path, const std::vector<Selection>& selections) {
  std::ifstream in(path, std::ios::binary);
  const Layout layout = layout_of(path, in, static_cast<std::size_t>(std::filesystem::file_size(path)));
  Plan plan = plan_of(selections, layout.columns, {});
  for (Part& part : plan.parts) part.table = Table(layout.rows, part.table.columns);
  // By rows: one row after the other, all parts from it. By columns: every wanted column at once.
  if (layout.order == Order::rows_together) {
    Stretch row(in, layout, layout.columns);
    for (std::size_t r = 0; r < layout.rows; ++r) {
      row.load(r * layout.columns);
      for (std::size_t p = 0; p < plan.parts.size(); ++p)
        for (std::size_t c = 0; c < plan.columns[p].size(); ++c)
          keep(path, row[plan.columns[p][c]], r, plan.columns[p][c], &plan.parts[p].table(r, c));
    }
    return std::move(plan.parts);
  }
  Stretch column(in, layout, layout.rows);
  for (std::size_t p = 0; p < plan.parts.size(); ++p)
    for (std::size_t c = 0; c < plan.columns[p].size(); ++c) {
      column.load(plan.columns[p][c] * layout.rows);
      for (std::size_t r = 0; r < layout.rows; ++r)
        keep(path, column[r], r, plan.columns[p][c], &plan.parts[p].table(r, c));
    }
  return std::move(plan.parts);
}

}  // namespace isentropic::samples
