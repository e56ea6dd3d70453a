// Builds the arrays and packs them.
#include "scan/arrays.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <set>

#include "scan/labels.hpp"

namespace isentropic::scan {
namespace {

template <class T>
std::string bytes_of(T x) {  // little-endian, as on every supported machine
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &x, sizeof(T));
  return out;
}

// ---- .npy ----

template <class T>
std::string npy(const std::vector<T>& values, std::size_t columns) {
  const std::size_t rows = columns > 0 ? values.size() / columns : values.size();
  const std::string shape =
      columns > 0 ? std::to_string(rows) + ", " + std::to_string(columns) : std::to_string(rows) + ",";
  std::string header = std::string("{'descr': '") + (sizeof(T) == 8 && std::is_integral_v<T> ? "<i8" : "<f8") +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr std::size_t kPreamble = 10, kAlign = 64;
  header.resize((kPreamble + header.size() + kAlign) / kAlign * kAlign - kPreamble - 1, ' ');
  header += '\n';
  std::string out = "\x93NUMPY";
  out += std::string("\x01\x00", 2) + bytes_of(static_cast<std::uint16_t>(header.size())) + header;
  if (!values.empty()) out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return out;
}

// ---- zip ----

std::uint32_t checksum(const std::string& bytes) {  // CRC-32, as in zip
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      out[i] = i;
      for (int bit = 0; bit < 8; ++bit) out[i] = (out[i] >> 1) ^ ((out[i] & 1u) != 0 ? 0xEDB88320u : 0u);
    }
    return out;
  }();
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFFu];
  return ~crc;
}

class Archive {
 public:
  void add(const std::string& name, const std::string& bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    // Version 2.0, no flags, stored, the first of January 1980.
    const std::string common = bytes_of<std::uint16_t>(20) + bytes_of<std::uint16_t>(0) + bytes_of<std::uint16_t>(0) +
                               bytes_of<std::uint16_t>(0) + bytes_of<std::uint16_t>(0x21) + bytes_of(checksum(bytes)) +
                               bytes_of(size) + bytes_of(size) + bytes_of(static_cast<std::uint16_t>(name.size())) +
                               bytes_of<std::uint16_t>(0);
    directory_ += "PK\x01\x02" + bytes_of<std::uint16_t>(20) + common + bytes_of<std::uint16_t>(0) +
                  bytes_of<std::uint16_t>(0) + bytes_of<std::uint16_t>(0) + bytes_of<std::uint32_t>(0) +
                  bytes_of(static_cast<std::uint32_t>(files_.size())) + name;
    files_ += "PK\x03\x04" + common + name + bytes;
    ++count_;
  }

  std::string finish() const {
    return files_ + directory_ + "PK\x05\x06" + std::string(4, '\0') + bytes_of(count_) + bytes_of(count_) +
           bytes_of(static_cast<std::uint32_t>(directory_.size())) +
           bytes_of(static_cast<std::uint32_t>(files_.size())) + bytes_of<std::uint16_t>(0);
  }

 private:
  std::string files_, directory_;
  std::uint16_t count_ = 0;
};

// ---- the arrays ----

void add_statistics(const Result& result, Archive* out) {
  std::set<std::string> names;
  for (const HeadResult& head : result.heads)
    for (const auto& [name, value] : head.statistics) names.insert(name);
  for (const std::string& name : names) {
    std::vector<double> means, deviations;
    for (const HeadResult& head : result.heads) {
      const auto found = head.statistics.find(name);
      means.push_back(found == head.statistics.end() ? kNotMeasured : found->second.mean);
      deviations.push_back(found == head.statistics.end() ? kNotMeasured : found->second.deviation);
    }
    out->add(name + ".npy", npy(means, 0));
    out->add(name + "_deviation.npy", npy(deviations, 0));
  }
}

// One row per head, as long as the longest; shorter ones are padded with NaN.
void add_rows(const std::string& name, const std::vector<std::vector<double>>& rows, Archive* out) {
  std::size_t columns = 0;
  for (const auto& row : rows) columns = std::max(columns, row.size());
  if (columns == 0) return;
  std::vector<double> values;
  for (const auto& row : rows) {
    values.insert(values.end(), row.begin(), row.end());
    values.resize(values.size() + columns - row.size(), kNotMeasured);
  }
  out->add(name + ".npy", npy(values, columns));
}

}  // namespace

std::string npz(const Result& result) {
  Archive out;
  std::vector<std::int64_t> layers, heads, lengths;
  std::vector<std::vector<double>> curves, by_length;
  for (const HeadResult& head : result.heads) {
    layers.push_back(static_cast<std::int64_t>(head.layer)), heads.push_back(static_cast<std::int64_t>(head.head));
    curves.push_back(head.entropy_curve), by_length.push_back(head.length_entropies);
  }
  out.add("layer.npy", npy(layers, 0));
  out.add("head.npy", npy(heads, 0));
  add_statistics(result, &out);
  add_rows("entropy_curve", curves, &out);
  if (!result.lengths.empty()) {
    std::vector<double> losses;
    for (const LengthResult& length : result.lengths) lengths.push_back(length.length), losses.push_back(length.loss);
    out.add("lengths.npy", npy(lengths, 0));
    out.add("loss_by_length.npy", npy(losses, 0));
    add_rows("entropy_by_length", by_length, &out);
  }
  for (const auto& [name, by_layer] : result.rows) {
    std::vector<std::vector<double>> rows;
    for (const auto& layer : by_layer) rows.insert(rows.end(), layer.begin(), layer.end());
    add_rows("rows_" + name, rows, &out);
  }
  return out.finish();
}

}  // namespace isentropic::scan
