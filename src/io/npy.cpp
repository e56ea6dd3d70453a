// NumPy's array file: the magic string, a version, the length of a header, a header that is the text of a Python
// dictionary {'descr': '<f8', 'fortran_order': False, 'shape': (100, 2), }, then the numbers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "io/cells.hpp"
#include "io/formats.hpp"
#include "isentropic/error.hpp"

namespace isentropic::io {
namespace {

using information::Table;

enum class Order { rows_together, columns_together };

struct Layout {
  char kind = 'f';        // f: floating point, i: signed, u: unsigned, b: boolean
  std::size_t bytes = 8;  // per number
  bool swapped = false;   // the opposite byte order
  Order order = Order::rows_together;
  std::size_t rows = 0, columns = 1;
  std::size_t offset = 0;  // of the first number
};

[[noreturn]] void malformed(const std::string& path, const std::string& what) {
  throw Error(path, what, "a NumPy array of numbers with one or two dimensions");
}

// Parses the header from left to right. Accepts only the three known entries, each once, and does not guess.
class Header {
 public:
  Header(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  void read(Layout* layout) {
    bool type = false, order = false, shape = false;
    take('{');
    while (!takes('}')) {
      const std::string key = quoted();
      take(':');
      if (key == "descr" && !std::exchange(type, true))
        read_type(layout);
      else if (key == "fortran_order" && !std::exchange(order, true))
        read_order(layout);
      else if (key == "shape" && !std::exchange(shape, true))
        read_shape(layout);
      else
        malformed(path_, fmt::format("with '{}' in its header", shown(key)));
      if (!takes(',') && !next_is('}')) malformed(path_, "without a comma between two entries of its header");
    }
    if (!rest_is_blank()) malformed(path_, "with text behind its header");
    for (const auto& [found, key] : {std::pair{type, "descr"}, {order, "fortran_order"}, {shape, "shape"}})
      if (!found) malformed(path_, fmt::format("without '{}' in its header", key));
  }

 private:
  void read_type(Layout* layout) {
    const std::string type = next_is('\'') ? quoted() : "";
    static const std::vector<std::string> known = {"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
    const bool ordered = type.size() == 3 && std::string_view("<>=|").find(type[0]) != std::string_view::npos;
    if (!ordered || std::find(known.begin(), known.end(), type.substr(1)) == known.end())
      malformed(path_, fmt::format("of type '{}'", shown(type)));
    layout->kind = type[1];
    layout->bytes = static_cast<std::size_t>(type[2] - '0');
    layout->swapped = type[0] == (std::endian::native == std::endian::little ? '>' : '<');
  }

  void read_order(Layout* layout) {
    const std::string word = letters();
    if (word != "True" && word != "False") malformed(path_, fmt::format("with fortran_order '{}'", shown(word)));
    layout->order = word == "True" ? Order::columns_together : Order::rows_together;
  }

  void read_shape(Layout* layout) {
    std::vector<std::size_t> sizes;
    take('(');
    while (!takes(')')) {
      sizes.push_back(whole_number());
      if (!takes(',') && !next_is(')')) malformed(path_, "of a shape that is no list of numbers");
    }
    if (sizes.empty() || sizes.size() > 2) malformed(path_, fmt::format("of {} dimensions", sizes.size()));
    layout->rows = sizes[0];
    layout->columns = sizes.size() == 2 ? sizes[1] : 1;
  }

  bool rest_is_blank() {
    text_ = text_.substr(std::min(text_.find_first_not_of(" \t\n"), text_.size()));
    return text_.empty();
  }
  bool next_is(char c) { return !rest_is_blank() && text_.front() == c; }
  bool takes(char c) {
    const bool there = next_is(c);
    if (there) text_.remove_prefix(1);
    return there;
  }
  void take(char c) {
    if (!takes(c)) malformed(path_, fmt::format("without '{}' where its header needs one", c));
  }
  std::string quoted() {
    take('\'');
    const std::size_t end = text_.find('\'');
    if (end == std::string_view::npos) malformed(path_, "with an open quote in its header");
    const std::string out(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return out;
  }
  std::string letters() {
    rest_is_blank();
    std::size_t end = 0;
    while (end < text_.size() && ((text_[end] | 32) >= 'a' && (text_[end] | 32) <= 'z')) ++end;
    const std::string out(text_.substr(0, end));
    text_.remove_prefix(end);
    return out;
  }
  std::size_t whole_number() {
    rest_is_blank();
    std::size_t out = 0;
    const auto [end, failure] = std::from_chars(text_.data(), text_.data() + text_.size(), out);
    if (failure == std::errc::result_out_of_range) malformed(path_, "too large");
    if (failure != std::errc{})
      malformed(path_, fmt::format("of a shape with '{}'", shown(text_.substr(0, text_.find_first_of(",)")))));
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return out;
  }

  const std::string& path_;
  std::string_view text_;
};

void read_exactly(const std::string& path, std::ifstream& in, char* out, std::size_t bytes) {
  in.read(out, static_cast<std::streamsize>(bytes));
  if (static_cast<std::size_t>(in.gcount()) != bytes) malformed(path, "cut off while it was read");
}

// The text of the header, and the offset of the numbers.
std::pair<std::string, std::size_t> header_of(const std::string& path, std::ifstream& in, std::size_t file_bytes) {
  unsigned char start[12] = {};
  in.read(reinterpret_cast<char*>(start), 12);
  if (in.gcount() < 10 || std::memcmp(start, "\x93NUMPY", 6) != 0) malformed(path, "without NumPy's first bytes");
  in.clear();
  if (start[6] < 1 || start[6] > 3 || start[7] != 0)
    throw Error(path, fmt::format("of NumPy's format {}.{}", start[6], start[7]), "1.0, 2.0 or 3.0");
  const bool long_header = start[6] >= 2;
  std::size_t length = start[8] + 256u * start[9];
  if (long_header) length += (static_cast<std::size_t>(start[10]) << 16) + (static_cast<std::size_t>(start[11]) << 24);
  const std::size_t begin = long_header ? 12 : 10;
  if (begin + length > file_bytes) malformed(path, "cut off within its header");
  constexpr std::size_t kLongest = std::size_t{1} << 20;
  if (length > kLongest) malformed(path, fmt::format("with a header of {} bytes", length));
  std::string header(length, '\0');
  in.seekg(static_cast<std::streamoff>(begin));
  read_exactly(path, in, header.data(), length);
  return {header, begin + length};
}

// The file must contain exactly as many numbers as the header announces.
Layout layout_of(const std::string& path, std::ifstream& in, std::size_t file_bytes) {
  const auto [header, offset] = header_of(path, in, file_bytes);
  Layout out;
  out.offset = offset;
  Header(path, header).read(&out);
  if (out.rows == 0 || out.columns == 0) throw Error(path, "empty", "at least one row of numbers");
  const std::size_t bytes = file_bytes - out.offset, numbers = bytes / out.bytes;
  if (out.columns > numbers || out.rows > numbers / out.columns)
    malformed(path, fmt::format("cut off: {} x {} numbers announced, {} there", out.rows, out.columns, numbers));
  if (const std::size_t more = bytes - out.rows * out.columns * out.bytes; more > 0)
    malformed(path, fmt::format("longer than the {} x {} numbers announced, by {} bytes", out.rows, out.columns, more));
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

// Consecutive numbers in the file, read in chunks.
class Stretch {
 public:
  Stretch(const std::string& path, std::ifstream& in, const Layout& layout, std::size_t numbers)
      : path_(path), in_(in), layout_(layout), bytes_(numbers * layout.bytes) {}
  void load(std::size_t first) {
    const std::size_t place = layout_.offset + first * layout_.bytes;
    if (place != next_) in_.seekg(static_cast<std::streamoff>(place));  // seeking would drop the stream's buffer
    read_exactly(path_, in_, bytes_.data(), bytes_.size());
    next_ = place + bytes_.size();
  }
  double operator[](std::size_t i) const { return number_at(bytes_.data() + i * layout_.bytes, layout_); }

 private:
  const std::string& path_;
  std::ifstream& in_;
  const Layout& layout_;
  std::vector<char> bytes_;
  std::size_t next_ = 0;
};

void keep(const std::string& path, const Options& options, double value, std::size_t row, std::size_t column,
          double* out) {
  *out = value;
  if (std::isfinite(value) || (std::isnan(value) && options.missing == Missing::dropped)) return;
  const std::string place = fmt::format("{}, row {}, column {}", path, row, column);
  if (std::isnan(value)) refuse_missing(place, "nan", options);
  throw Error(place, fmt::format("{}", value), "a finite number");
}

}  // namespace

Samples read_npy(const std::string& path, const std::vector<Selection>& selections, const Options& options) {
  std::ifstream in(path, std::ios::binary);
  const Layout layout = layout_of(path, in, static_cast<std::size_t>(std::filesystem::file_size(path)));
  Plan plan = plan_of(selections, layout.columns, {});
  for (Part& part : plan.parts) part.table = Table(layout.rows, part.table.columns);
  const auto keep_at = [&](double value, std::size_t p, std::size_t r, std::size_t c) {
    keep(path, options, value, r, plan.columns[p][c], &plan.parts[p].table(r, c));
  };
  // Row-major: row by row, with all parts of each. Column-major: each wanted column in one read.
  if (layout.order == Order::rows_together) {
    Stretch row(path, in, layout, layout.columns);
    for (std::size_t r = 0; r < layout.rows; ++r) {
      row.load(r * layout.columns);
      for (std::size_t p = 0; p < plan.parts.size(); ++p)
        for (std::size_t c = 0; c < plan.columns[p].size(); ++c) keep_at(row[plan.columns[p][c]], p, r, c);
    }
  } else {
    Stretch column(path, in, layout, layout.rows);
    for (std::size_t p = 0; p < plan.parts.size(); ++p)
      for (std::size_t c = 0; c < plan.columns[p].size(); ++c) {
        column.load(plan.columns[p][c] * layout.rows);
        for (std::size_t r = 0; r < layout.rows; ++r) keep_at(column[r], p, r, c);
      }
  }
  return {.parts = std::move(plan.parts), .rows_dropped = 0, .notes = {}};
}

}  // namespace isentropic::io
